import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex, PassThrough } from 'node:stream';
import ssh2, { type ClientChannel } from 'ssh2';
import { until } from '../../../test/support/until.js';
import type { ExecSession } from '../../drivers/engine/engine.js';
import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import { createLogger } from '../../platform/observability/logger.js';
import type { ActivityReports } from '../activity/activity-reports.js';
import { LiveSessions } from '../sessions/live-sessions.js';
import { SftpListener } from './sftp-listener.js';
import { packet, REPLY, REQUEST } from './sftp-protocol.js';
import type { Workshops } from './workshops.js';

const log = createLogger({ logLevel: 'fatal' });
const SOON_MS = 10_000;
const WRITE = packet(REQUEST.WRITE, 1, 'handle', 0, 0, 'text');
const READ_LINK = packet(REQUEST.READLINK, 1, 'a');

let listener: SftpListener;
let port: number;
let sessions: LiveSessions;
let entered: () => Promise<void>;
let killed: number;
let released: number;
let revoked: boolean;
let guesses: string[];
/** What came through to the server of the service. */
let forwarded: Buffer[];
const sockets: Socket[] = [];

function server(): ExecSession {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.on('data', (data: Buffer) => {
    forwarded.push(data);
    if (data[4] === REQUEST.INIT) stdout.write(packet(REPLY.VERSION, 3));
  });
  return { stdin, stdout, stderr, exit: Promise.resolve(0), kill: async () => void killed++ };
}

beforeEach(async () => {
  [killed, released, revoked, forwarded, guesses] = [0, 0, false, [], []];
  entered = async () => {};
  const api = {
    sftpLogin: async ({ password }: { password: string }) => {
      guesses.push(password);
      if (password !== 'right') throw new Error('wrong');
      return { serverId: 'srv', accountId: 'usr', image: 'nodejs', credentialVersion: 1 };
    },
    sessions: async (open: { id: string }[]) => ({
      close: revoked ? open.map(({ id }) => ({ id, reason: 'revoked' })) : [],
      servers: [],
    }),
  } as unknown as InternalApiClient;
  sessions = new LiveSessions(api, log);
  const workshops = {
    enter: async () => {
      await entered();
      return { server: server(), release: () => released++ };
    },
  } as unknown as Workshops;
  const activity = { add: () => {} } as unknown as ActivityReports;
  const { private: hostKey } = ssh2.utils.generateKeyPairSync('ed25519');
  listener = new SftpListener(hostKey, api, { workshops, sessions, activity, log }, log);
  port = await listener.listen('127.0.0.1', 0);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await listener.close();
  await sessions.stop();
});

function dial(localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

interface Visit {
  socket: Socket;
  channel: ClientChannel;
  /** From now on it hears nothing, not of the end of the connection either, and keeps its own side open. */
  goDeaf(): void;
}

async function connected(
  localAddress?: string,
  password = 'right',
): Promise<Omit<Visit, 'channel'> & { client: ssh2.Client }> {
  const socket = dial(localAddress);
  let deaf = false;
  const sock = new Duplex({ read: () => {}, write: (data, _, done) => void socket.write(data, () => done()) });
  socket.on('data', (data) => deaf || sock.push(data));
  socket.on('end', () => deaf || sock.push(null));
  const client = new ssh2.Client();
  client.on('error', () => undefined);
  client.connect({ sock, username: 'somebody', password });
  return { socket, client, goDeaf: () => (deaf = true) };
}

async function visit(localAddress?: string): Promise<Visit> {
  const { client, ...rest } = await connected(localAddress);
  await once(client, 'ready');
  const channel = await new Promise<ClientChannel>((resolve, reject) => {
    client.subsys('sftp', (error, made) => (error ? reject(error) : resolve(made)));
  });
  channel.resume();
  return { ...rest, channel };
}

/** Whether the other side has really closed the connection: a half of it would take what is sent. */
function takesNothing(socket: Socket): boolean {
  socket.write('more');
  return socket.destroyed;
}

/** Goes on asking until the connection is gone. */
async function isCutOff({ socket, channel }: Visit): Promise<void> {
  const ask = () => {
    channel.write(WRITE);
    channel.write(READ_LINK);
    return socket.destroyed;
  };
  await until('the connection is gone', ask, SOON_MS);
}

test('of a session that was revoked nothing more is carried out, though its client goes on', async () => {
  const guest = await visit();
  guest.channel.write(packet(REQUEST.INIT, 3));
  guest.channel.write(WRITE);
  await until('what was allowed', () => forwarded.length === 2);
  guest.goDeaf();
  revoked = true;
  const ended = until('the end', () => killed === 1, SOON_MS).then(() => forwarded.length);
  await Promise.all([ended, isCutOff(guest)]);
  expect(forwarded).toHaveLength(await ended);
  expect(released).toBe(1);
});

test('nor of one that was revoked while its workshop was made', async () => {
  const made = Promise.withResolvers<void>();
  entered = () => made.promise;
  const guest = await visit();
  guest.channel.write(packet(REQUEST.INIT, 3));
  guest.goDeaf();
  revoked = true;
  await isCutOff(guest);
  made.resolve();
  await until('the end', () => released === 1, SOON_MS);
  expect(killed).toBe(1);
  expect(forwarded).toEqual([]);
});

test('a client that closes its side is gone, whether it reads or not', async () => {
  const guest = await visit();
  guest.channel.write(packet(REQUEST.INIT, 3));
  await until('an answer', () => forwarded.length === 1);
  guest.goDeaf();
  guest.socket.end();
  await until('the end', () => released === 1, SOON_MS);
  expect(killed).toBe(1);
});

test('who guesses has three tries, whether waiting for answers or not', async () => {
  const { client, socket } = await connected(undefined, 'wrong');
  await once(client, 'handshake');
  const { _protocol: protocol } = client as unknown as {
    _protocol: { authPassword: (name: string, password: string) => void };
  };
  for (let n = 0; n < 8; n++) protocol.authPassword('somebody', `guess ${n}`);
  await until('the end', () => takesNothing(socket), SOON_MS);
  expect(guesses.length).toBeLessThanOrEqual(3);
});

test('silent connections of one address take places of nobody else', async () => {
  const silent = Array.from({ length: 32 }, () => dial());
  await Promise.all(silent.map((socket) => once(socket, 'data')));
  const more = Array.from({ length: 8 }, () => dial());
  await Promise.all(more.map((socket) => once(socket.resume(), 'end')));
  await visit('127.0.0.2');
  silent[0]!.destroy();
  await until('room', async () => {
    const socket = dial();
    return Promise.race([once(socket, 'data').then(() => true), once(socket, 'end').then(() => false)]);
  });
});

test('silent connections of many addresses keep nobody out', async () => {
  const guest = await visit();
  for (let address = 2; address < 18; address++) {
    const silent = Array.from({ length: 32 }, () => dial(`127.0.1.${address}`));
    await Promise.all(silent.map((socket) => once(socket, 'data')));
  }
  await visit();
  guest.channel.write(packet(REQUEST.INIT, 3));
  await until('what the first guest asks', () => forwarded.length > 0, SOON_MS);
});

test('who has not logged in after twenty seconds is cut off, whatever has been said', async () => {
  fakeTimeouts();
  const [silent, speaking] = [dial(), dial()];
  await Promise.all([silent, speaking].map((socket) => once(socket, 'data')));
  speaking.write('SSH-2.0-speaking\r\n');
  await once(speaking, 'data');
  jest.advanceTimersByTime(20_000);
  jest.useRealTimers();
  const gone = [silent, speaking].map((socket) => until('the end', () => takesNothing(socket), SOON_MS));
  await Promise.all(gone);
});

test('who has not asked for anything for ten minutes is cut off', async () => {
  fakeTimeouts();
  const guest = await visit();
  guest.goDeaf();
  jest.advanceTimersByTime(10 * 60_000);
  jest.advanceTimersByTime(1000);
  jest.useRealTimers();
  await isCutOff(guest);
  expect(forwarded).toEqual([]);
});

function fakeTimeouts(): void {
  const doNotFake = [
    'Date',
    'hrtime',
    'nextTick',
    'performance',
    'queueMicrotask',
    'setImmediate',
    'setInterval',
  ] as const;
  jest.useFakeTimers({ doNotFake: [...doNotFake] });
}
