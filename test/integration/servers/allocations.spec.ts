import { AllocationsService } from '../../../src/modules/servers/allocations/allocations.service.js';
import { Allocation } from '../../../src/modules/servers/allocations/allocation.entity.js';
import { NodeFirewall } from '../../../src/modules/servers/allocations/node-firewall.js';
import { Server } from '../../../src/modules/servers/server.entity.js';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { ServersApp } from './servers-app.js';

let app: ServersApp;
let caller: Principal;
let allocations: AllocationsService;

beforeAll(async () => {
  app = await ServersApp.start({
    PORT_RANGE: '24000-24039',
    PORT: '24000',
    SFTP_PORT: '24001',
    PUBLIC_URL: 'http://127.0.0.1:24002',
  });
  await app.startWorker();
  caller = await app.makeCaller('ports');
  allocations = app.api.get(AllocationsService);
}, 60_000);
afterAll(() => app?.close());

const problem = (status: string, code: string) => expect.objectContaining({ kind: status, code });

async function inEngine(id: string): Promise<number[]> {
  return (await app.engine.getInstance(engineName(id))).ports.map(({ listenPort }) => listenPort).sort();
}

test('further ports are opened in the engine and closed again; the primary one stays', async () => {
  const id = await app.makeServer(caller);
  const [primary] = await allocations.list(caller, id);
  expect(primary).toMatchObject({ isPrimary: true, firewall: { active: true, rateLimit: 0 } });
  const added = await allocations.add(caller, id, { protocol: 'udp' });
  expect(await inEngine(id)).toEqual([primary!.port, added.port].sort());
  expect(await allocations.list(caller, id)).toEqual([primary, added]);
  await allocations.remove(caller, id, added.id);
  expect(await inEngine(id)).toEqual([primary!.port]);
  expect(await allocations.list(caller, id)).toEqual([primary]);
  await expect(allocations.remove(caller, id, added.id)).rejects.toEqual(problem('not_found', 'not_found'));
  await expect(allocations.remove(caller, id, primary!.id)).rejects.toEqual(problem('conflict', 'primary_port'));
});

test('a wanted port must be in the range, not reserved and free; both protocols may have one number', async () => {
  const id = await app.makeServer(caller);
  const add = (port: number, protocol: 'tcp' | 'udp' = 'tcp') => allocations.add(caller, id, { port, protocol });
  for (const port of [22, 23_999, 24_040, 24_000, 24_001, 24_002]) {
    await expect(add(port)).rejects.toEqual(problem('bad_request', 'validation_failed'));
  }
  const [{ port }] = (await allocations.list(caller, id)) as unknown as [{ port: number }];
  await expect(add(port)).rejects.toEqual(problem('conflict', 'port_taken'));
  expect(await add(port, 'udp')).toMatchObject({ port, protocol: 'udp' });
});

test('never gives a reserved port by itself, and no two services the same', async () => {
  const rows = await app.database.source.manager.find(Allocation);
  for (const { port } of rows) expect([24_000, 24_001, 24_002]).not.toContain(port);
});

test('ten ports are all that a service gets, also when they are asked for at once', async () => {
  const id = await app.makeServer(caller);
  let refused = 0;
  for (let round = 0; round < 12; round++) {
    await allocations.add(caller, id, { protocol: 'udp' }).catch((error: unknown) => {
      expect(error).toEqual(problem('conflict', 'too_many_ports'));
      refused++;
    });
  }
  expect(await allocations.list(caller, id)).toHaveLength(10);
  expect(refused).toBe(3);
}, 60_000);

test("the firewall's rules are those of the node's services, and their version changes with them only", async () => {
  const id = await app.makeServer(caller);
  const { nodeId } = await app.database.source.manager.findOneByOrFail(Server, { id });
  const rules = app.api.get(NodeFirewall);
  const before = await rules.of(nodeId);
  const [{ port }] = (await allocations.list(caller, id)) as unknown as [{ port: number }];
  expect((await rules.of(nodeId)).version).toBe(before.version);
  const changed = await allocations.setFirewall(caller, id, { port, active: false, rateLimit: 9 });
  expect(changed.firewall).toEqual({ active: false, rateLimit: 9 });
  const after = await rules.of(nodeId);
  expect(after.version).not.toBe(before.version);
  expect(after.rules).toContainEqual({ ip: '127.0.0.1', port, protocol: 'tcp', active: false, rateLimit: 9 });
  expect((await rules.of('nod_other')).rules).toEqual([]);
  const missing = { port: 24_039, active: true, rateLimit: 0 };
  await expect(allocations.setFirewall(caller, id, missing)).rejects.toEqual(problem('not_found', 'not_found'));
});

test("another account's service is nobody's", async () => {
  const id = await app.makeServer(caller);
  const other = await app.makeCaller('stranger');
  await expect(allocations.list(other, id)).rejects.toEqual(problem('not_found', 'not_found'));
  await expect(allocations.add(other, id, { protocol: 'tcp' })).rejects.toEqual(problem('not_found', 'not_found'));
});
