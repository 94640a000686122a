import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { freePort } from '../../test/support/free-ports.js';
import { until } from '../../test/support/until.js';
import { VaultControlPlane } from '../../test/support/vault-control-plane.js';
import { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import { createLogger } from '../platform/observability/logger.js';
import { BrokerGate } from './broker-gate.js';
import { BrokerListener } from './broker-listener.js';
import { BrokerRoutes } from './broker-routes.js';
import { BrokerSettings } from './broker-settings.js';
import type { Caller } from './caller.js';
import type { CallerMap } from './caller-map.js';
import { SecretReads } from './secret-reads.service.js';
import { StrangerLog } from './stranger-log.js';

jest.setTimeout(60_000);

/** A control character is six bytes in JSON. */
const MOST_BYTES = 12 * 1024 * 1024;

let plane: VaultControlPlane;
let reads: SecretReads;
let listener: BrokerListener;
let port: number;
let clients: Socket[];

/** Each loopback address is a service of its own, named by its last number. */
class Callers {
  private readonly known = new Map<string, Caller>();

  at(address: string): Caller {
    const serverId = `srv_${address.split('.')[3]}`;
    const made = { serverId, instance: serverId, address, startedAt: 1, ended: false, lastServed: null };
    const caller = this.known.get(address) ?? made;
    this.known.set(address, caller);
    return caller;
  }

  holds(): boolean {
    return true;
  }
}

/** As many secrets as a service may have, and as large. */
function mostOf(text: string): Record<string, string> {
  const value = text.repeat((32 * 1024) / text.length);
  return Object.fromEntries(Array.from({ length: 64 }, (_, number) => [`KEY_${number}`, value]));
}

function requestFor(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
}

/** Sends a request, and reads the beginning of what comes and no more. */
async function ask(service: number, path = '/v1/secrets'): Promise<{ text: string; socket: Socket }> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${service}` });
  socket.on('error', () => undefined);
  clients.push(socket);
  socket.write(requestFor(path));
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return { text: first.toString(), socket };
}

async function statusOf(service: number, path?: string): Promise<number> {
  return Number((await ask(service, path)).text.split(' ')[1]);
}

beforeEach(async () => {
  clients = [];
  plane = await VaultControlPlane.start();
  const log = createLogger({ logLevel: 'fatal' }, { write: () => undefined });
  port = await freePort();
  const settings = new BrokerSettings('127.0.0.1', port, 100_000, 600);
  const callers = new Callers() as unknown as CallerMap;
  reads = new SecretReads(settings, log, new InternalApiClient(plane.url, 'node-token'));
  const gate = new BrokerGate(settings, callers, reads, new StrangerLog(log));
  listener = new BrokerListener(new BrokerRoutes(gate, reads, callers, log).handle);
  await listener.listen(port, '127.0.0.1');
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await listener.close();
  await reads.close();
  await plane.away();
});

test.each([
  ['/v1/secrets', '\u0001'],
  ['/v1/env', '"\\'],
])('answers of %s that a service does not read leave it no room for more', async (path, text) => {
  plane.give('srv_2', mostOf(text));
  plane.give('srv_3', { A: '1' });
  // The kernel holds some megabytes of them.
  const { text: first, socket } = await ask(2, path);
  expect(first).toMatch(/^HTTP\/1\.1 200 /);
  socket.write(requestFor(path).repeat(20));
  await until('no room for more', async () => (await statusOf(2, path)) === 429);
  const { text: refused } = await ask(2, path);
  expect(refused).toMatch(/\r\nRetry-After: 1\r\n/);
  expect(refused).toContain('"code":"too_many_outstanding"');
  // The control plane of this test is in the same process, and busy with the others.
  await until('others are served', async () => (await statusOf(3, path)) === 200);
  for (const client of clients) client.destroy();
  await until('served again', async () => (await statusOf(2, path)) === 200);
});

test('however many services do not read theirs, together they have a bound, and small answers are served', async () => {
  const statuses: number[] = [];
  for (let service = 2; service < 14; service++) {
    plane.give(`srv_${service}`, mostOf('\u0001'));
    statuses.push(await statusOf(service));
  }
  expect(statuses[0]).toBe(200);
  expect(statuses.filter((status) => status === 200).length * MOST_BYTES).toBeLessThan(128 * 1024 * 1024);
  plane.give('srv_20', { A: '1' });
  const { text } = await ask(20);
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*\{"A":"1"\}$/);
});
