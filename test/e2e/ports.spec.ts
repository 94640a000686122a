import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import type { TestAccount } from '../support/app.js';
import { until } from '../support/until.js';
import { BrokerClient } from './support/broker-client.js';
import { Hosting, onEngine, runningServer, type Server } from './support/hosting.js';
import { Neighbour } from './support/neighbour.js';

const TABLE = 'berth_e2e_test';

interface Port {
  id: string;
  ip: string;
  port: number;
  protocol: string;
  isPrimary: boolean;
  firewall: { active: boolean; rateLimit: number };
}

/** Ports of services and the rules about them, on the machine's own packet filter. */
onEngine('ports and firewall', () => {
  let hosting: Hosting;
  let account: TestAccount;
  let server: Server;

  beforeAll(async () => {
    hosting = await Hosting.start({ env: { FIREWALL: 'on', FIREWALL_TABLE: TABLE } });
    account = await hosting.berth.makeAccount();
    server = await runningServer(account.api);
    await until('a program that listens', async () => (await attempt(primary())) === 'accepted');
  }, 120_000);
  afterAll(async () => {
    await hosting?.close();
    // The node's own, and those before its broker and around its machines.
    for (const table of [TABLE, `${TABLE}_broker`, `${TABLE}_machines`])
      nft([`table inet ${table}`, `delete table inet ${table}`]);
  });

  const primary = (): { ip: string; port: number } => server.primaryAllocation;
  const ports = async (): Promise<Port[]> =>
    (await account.api.get(`/servers/${server.id}/allocations`)).expect(200).body as Port[];

  async function rule(port: number, active: boolean, rateLimit: number): Promise<void> {
    const { body } = (
      await account.api.post(`/servers/${server.id}/allocations/firewall`, { port, active, rateLimit })
    ).expect(200);
    expect(body.firewall).toEqual({ active, rateLimit });
  }

  test('a port that is closed refuses at once, and serves again once it is opened', async () => {
    await rule(primary().port, false, 0);
    await until('refusals', async () => (await attempt(primary())) === 'ECONNREFUSED');
    const began = Date.now();
    expect(await attempt(primary())).toBe('ECONNREFUSED');
    expect(Date.now() - began).toBeLessThan(500);
    await rule(primary().port, true, 0);
    await until('connections', async () => (await attempt(primary())) === 'accepted');
  }, 30_000);

  test('a rate lets that many new connections a second through, and refuses the rest', async () => {
    await rule(primary().port, true, 5);
    await until('the rate', () => kernelRules().includes('limit rate over 5/second'));
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const answers = await Promise.all(Array.from({ length: 60 }, () => attempt(primary())));
    const accepted = answers.filter((answer) => answer === 'accepted').length;
    expect(accepted).toBeGreaterThanOrEqual(5);
    expect(accepted).toBeLessThanOrEqual(8);
    expect(new Set(answers)).toEqual(new Set(['accepted', 'ECONNREFUSED']));
    await rule(primary().port, true, 0);
    await until('no rate', () => !kernelRules().includes('limit rate'));
    const free = await Promise.all(Array.from({ length: 30 }, () => attempt(primary())));
    expect(new Set(free)).toEqual(new Set(['accepted']));
  }, 30_000);

  test('a further port is opened while the program runs, and closed again', async () => {
    const added = (await account.api.post(`/servers/${server.id}/allocations`, { protocol: 'tcp' })).expect(201)
      .body as Port;
    expect(added).toMatchObject({ protocol: 'tcp', isPrimary: false, firewall: { active: true, rateLimit: 0 } });
    const opened = (await hosting.engine.getInstance(server.id.replace('_', '-'))).ports.map(
      ({ listenPort }) => listenPort,
    );
    expect(opened.sort()).toEqual([primary().port, added.port].sort());
    expect(await attempt(primary())).toBe('accepted');
    (await account.api.delete(`/servers/${server.id}/allocations/${added.id}`)).expect(204);
    expect((await ports()).map(({ port }) => port)).toEqual([primary().port]);
    expect(await attempt(added)).toBe('ECONNREFUSED');
  }, 60_000);

  test('a port that somebody else listens on is not given', async () => {
    const squatter = spawn(process.execPath, ['-e', SQUAT, primary().ip, '29321'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(squatter.stdout, 'data');
    try {
      const refused = await account.api.post(`/servers/${server.id}/allocations`, { protocol: 'tcp', port: 29_321 });
      refused.expect(409);
      expect((await ports()).map(({ port }) => port)).toEqual([primary().port]);
    } finally {
      squatter.kill('SIGKILL');
    }
  }, 60_000);

  test('rules outlive a killed node, hold as a whole, and are put back when somebody removes them', async () => {
    await rule(primary().port, false, 0);
    await until('refusals', async () => (await attempt(primary())) === 'ECONNREFUSED');
    const node = hosting.berth.process('node');
    for (let round = 0; round < 3; round++) {
      await account.api.post(`/servers/${server.id}/allocations/firewall`, {
        port: primary().port,
        active: false,
        rateLimit: round,
      });
      await node.kill();
      const rules = kernelRules();
      for (const part of ['set closed4', 'chain input', 'chain refuse']) expect(rules).toContain(part);
      expect(await attempt(primary())).toBe('ECONNREFUSED');
      await node.start();
    }
    nft([`delete table inet ${TABLE}`]);
    await until('the rules', () => kernelRules().includes('chain input'), 30_000);
    expect(await attempt(primary())).toBe('ECONNREFUSED');
  }, 120_000);

  test('of what stands on private addresses a service reaches the databases and the broker, and nothing else', async () => {
    const { gateway } = hosting;
    const program = new BrokerClient(hosting, server.id);
    const tries = (host: string, port: number): Promise<string> => program.python(TRIES, host, String(port));
    const own = createServer((socket) => socket.end()).listen(0, gateway);
    const street = { name: 'berth-neighbour', link: 'berthngh0', prefix: 30 };
    const neighbour = new Neighbour({ ...street, ours: '10.99.77.1', theirs: '10.99.77.2' });
    try {
      await Promise.all([once(own, 'listening'), neighbour.listen(3306)]);
      neighbour.alsoHas('198.51.100.70');
      // As the rest of the internet it answers.
      expect(await tries('198.51.100.70', 3306)).toBe('in');
      expect(await tries('10.99.77.2', 3306)).toBe('refused');
      const { port } = own.address() as AddressInfo;
      expect(await tries(gateway, port)).toBe('refused');
      expect(await tries('10.99.77.1', port)).toBe('refused');
      expect(await tries(gateway, 53)).toBe('in');
      expect(await tries(gateway, Number(hosting.berth.env.BROKER_PORT))).toBe('in');
      await hosting.rows(DATABASE_HOST, ['10.99.77.2', 3306]);
      await until('the way to the databases', async () => (await tries('10.99.77.2', 3306)) === 'in');
      expect(await tries('10.99.77.2', 3307)).toBe('refused');
      expect(await tries(gateway, port)).toBe('refused');
      await hosting.rows("DELETE FROM database_hosts WHERE id = 'dbh_neighbour'");
      await until('no way to them', async () => (await tries('10.99.77.2', 3306)) === 'refused');
    } finally {
      own.close();
      neighbour.remove();
    }
  }, 60_000);

  test('no rule is left of a service that is deleted', async () => {
    const gone = await runningServer(account.api);
    const { port } = gone.primaryAllocation;
    await account.api.post(`/servers/${gone.id}/allocations/firewall`, { port, active: false, rateLimit: 0 });
    await until('its rule', () => kernelRules().includes(String(port)));
    (await account.api.delete(`/servers/${gone.id}`)).expect(204);
    await until('no rule', () => !kernelRules().includes(String(port)), 30_000);
  }, 60_000);

  function kernelRules(): string {
    try {
      return execFileSync('nft', ['list', 'table', 'inet', TABLE], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    } catch {
      return '';
    }
  }
});

function nft(commands: string[]): void {
  execFileSync('nft', ['-f', '-'], { input: `${commands.join('\n')}\n` });
}

const DATABASE_HOST = `
INSERT INTO database_hosts SET id = 'dbh_neighbour', name = 'neighbour', address = '127.0.0.1', port = 1,
  service_address = ?, service_port = ?, admin_user = 'nobody', sealed_password = '', capacity = 0, created_at = NOW(3)`;

/** What becomes of one connection from inside a container. */
const TRIES = `
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()
    print('in')
except ConnectionRefusedError:
    print('refused')
except OSError as error:
    print(type(error).__name__)
`;

const SQUAT = `
const [ip, port] = process.argv.slice(1);
require('node:net').createServer().listen(Number(port), ip, () => console.log('listens'));
`;

/** What becomes of one connection: the proxy takes it, or the reason it was refused. */
async function attempt({ ip, port }: { ip: string; port: number }): Promise<string> {
  const socket = connect(port, ip);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(5000) });
    return 'accepted';
  } catch (error) {
    return (error as { code?: string }).code ?? 'no answer';
  } finally {
    socket.destroy();
  }
}
