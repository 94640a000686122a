import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as dial, type Socket } from 'node:net';
import WebSocket from 'ws';
import { until } from '../../../test/support/until.js';
import { SimulatorEngine } from '../../drivers/engine/simulator/simulator-engine.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import { signConsoleToken, WATCHING } from '../../platform/internal-api/console-token.js';
import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import { createLogger } from '../../platform/observability/logger.js';
import { LiveSessions } from '../sessions/live-sessions.js';
import { ConsoleHub } from './console-hub.js';
import { ConsoleServer } from './console-server.js';

const UUID = '00000000-0000-4000-8000-000000000001';
const OTHER = '00000000-0000-4000-8000-000000000002';
const KEY = Buffer.alloc(32, 1);
const log = createLogger({ logLevel: 'fatal' });

let engine: SimulatorEngine;
let hub: ConsoleHub;
let sessions: LiveSessions;
let server: ConsoleServer;
let port: number;
const sockets = new Set<WebSocket>();
const silent = new Set<Socket>();

beforeEach(async () => {
  engine = new SimulatorEngine();
  hub = new ConsoleHub(engine, log);
  const api = { sessions: async () => ({ close: [], servers: [] }) } as unknown as InternalApiClient;
  sessions = new LiveSessions(api, log);
  const addresses = new ClientAddresses(['127.0.0.1']);
  const parts = { hub, api, sessions, log, key: () => KEY };
  server = new ConsoleServer({ host: '127.0.0.1', port: 0, origins: [], addresses }, parts);
  port = await server.open();
});
afterEach(async () => {
  for (const socket of sockets) socket.terminate();
  sockets.clear();
  for (const socket of silent) socket.destroy();
  silent.clear();
  await server.close();
  await sessions.stop();
  await hub.stop();
  await engine.close();
});

function token(uuid = UUID): Promise<string> {
  return signConsoleToken(KEY, {
    serverId: 'srv_1',
    serverUuid: uuid,
    accountId: 'usr_1',
    via: 'system',
    keyId: null,
    sessionGeneration: null,
    permissions: WATCHING,
  });
}

/** A client at that address; or how it was refused. */
async function connect(address: string, authorization?: string): Promise<WebSocket | string> {
  const headers = { 'x-forwarded-for': address, ...(authorization === undefined ? {} : { authorization }) };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/servers/${UUID}/ws`, { headers });
  sockets.add(socket);
  return new Promise((resolve) => {
    socket.on('open', () => resolve(socket));
    socket.on('unexpected-response', (_, { statusCode, headers: told }: IncomingMessage) =>
      resolve(`${statusCode}, again in ${told['retry-after']} s`),
    );
    socket.on('error', (error) => resolve(String(error)));
  });
}

/** A connection that says nothing. */
async function silence(): Promise<void> {
  const socket = dial(port, '127.0.0.1');
  socket.on('error', () => undefined);
  silent.add(socket);
  await once(socket, 'connect');
}

async function stranger(address: string): Promise<WebSocket> {
  const socket = await connect(address);
  if (typeof socket === 'string') throw new Error(socket);
  return socket;
}

/** Shows its token and answers what comes of it: the first event, or the code of the end. */
async function enters(socket: WebSocket): Promise<unknown> {
  socket.send(JSON.stringify({ event: 'auth', args: [await token()] }));
  const [data] = (await once(socket, 'message')) as [Buffer];
  return (JSON.parse(data.toString()) as { event: string }).event;
}

const REFUSED = '429, again in 10 s';

test('an address has only so many connections that show no token; those that do are let in all the same', async () => {
  const strangers = await Promise.all(Array.from({ length: 32 }, () => stranger('192.0.2.1')));
  expect(await connect('192.0.2.1')).toBe(REFUSED);
  await stranger('192.0.2.2');
  for (const bad of ['Bearer x', 'Basic x', `Bearer ${await token(OTHER)}`])
    expect(await connect('192.0.2.1', bad)).toBe(REFUSED);
  expect(await connect('192.0.2.1', `Bearer ${await token()}`)).toBeInstanceOf(WebSocket);
  expect(await enters(strangers[0]!)).toBe('auth success');
  strangers[1]!.terminate();
  for (let n = 0; n < 2; n++) await until('room', async () => typeof (await connect('192.0.2.1')) !== 'string');
  expect(await connect('192.0.2.1')).toBe(REFUSED);
});

test('the network of an IPv6 address counts as one', async () => {
  await Promise.all(Array.from({ length: 32 }, (_, host) => stranger(`2001:db8:0:1::${host + 1}`)));
  expect(await connect('2001:db8:0:1::ffff')).toBe(REFUSED);
  await stranger('2001:db8:0:2::1');
});

test.each<[string, (address: string) => Promise<unknown>]>([
  ['said nothing', silence],
  ['opened consoles and shown no token', stranger],
])('however many have %s, the oldest makes room for the next, and nobody goes who has shown one', async (_, open) => {
  const guest = await connect('192.0.2.1', `Bearer ${await token()}`);
  const late = await stranger('192.0.2.1');
  expect(await enters(late)).toBe('auth success');
  const gone = once(await stranger('192.0.2.1'), 'close');
  for (let n = 0; n < 16; n++)
    await Promise.all(Array.from({ length: 32 }, (_, host) => open(`2001:db8:0:${n}::${host + 1}`)));
  await gone;
  expect(await enters(await stranger('192.0.2.2'))).toBe('auth success');
  expect(await connect('192.0.2.3', `Bearer ${await token()}`)).toBeInstanceOf(WebSocket);
  expect([guest, late].map((socket) => (socket as WebSocket).readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
});

test('the places of a service are for clients that have shown a token', async () => {
  await Promise.all(Array.from({ length: 32 }, () => stranger('192.0.2.1')));
  const guests = await Promise.all(Array.from({ length: 30 }, () => stranger('192.0.2.2')));
  for (const guest of guests) expect(await enters(guest)).toBe('auth success');
  const late = await stranger('192.0.2.2');
  const ended = once(late, 'close');
  expect(await enters(late)).toBe('daemon error');
  expect((await ended)[0]).toBe(4429);
  expect(await connect('192.0.2.2', `Bearer ${await token()}`)).toBe(REFUSED);
  guests[0]!.terminate();
  await until('a place', async () => (await enters(await stranger('192.0.2.2'))) === 'auth success');
});

test('who is refused is cut off, and need not close its own side for that', async () => {
  const upgrade = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';
  const elsewhere = `GET / HTTP/1.1\r\n${upgrade}\r\n`;
  const fromAnotherPage = `GET /api/servers/${UUID}/ws HTTP/1.1\r\n${upgrade}Origin: https://x.example\r\n\r\n`;
  for (const request of [elsewhere, fromAnotherPage]) {
    const socket = dial({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(request);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 40[34] /);
    // A half of a connection that is still there would take it.
    await until(
      'the end',
      () => {
        socket.write('more');
        return socket.destroyed;
      },
      10_000,
    );
  }
});
