import type { Request, Response } from 'express';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { until } from '../../../../test/support/until.js';
import { mapError } from '../../../platform/http/problem-mapping.js';
import { sendProblem } from '../../../platform/http/problem.js';
import { OpenedSecrets } from '../store/opened-secrets.js';
import type { TokenHolder } from '../tokens/token-look-up.service.js';
import { EnvDoor, SecretsDoor } from './token-reads.middleware.js';
import type { TokenReads } from './token-reads.service.js';

const MAX_VALUE_BYTES = 32 * 1024;

let server: Server;
let clients: Socket[];
let opened: OpenedSecrets[];
/** Until it is let go, no secret is opened. */
let gate: PromiseWithResolvers<void>;

/** Tokens are names of services; one that begins with `large` has as many secrets as it may. */
const reads = {
  admit: async (authorization: string) => ({ serverId: authorization }) as TokenHolder,
  open: async ({ serverId }: TokenHolder) => {
    await gate.promise;
    const count = serverId.startsWith('large') ? 64 : 1;
    const secrets = Array.from({ length: count }, (_, number) => ({
      id: `sec_${number}`,
      key: `KEY_${number}`,
      value: Buffer.alloc(count > 1 ? MAX_VALUE_BYTES : 1, 1),
    }));
    const given = new OpenedSecrets(secrets, '').hold();
    opened.push(given);
    return given;
  },
} as unknown as TokenReads;

const doors = { '/secrets': new SecretsDoor(reads), '/env': new EnvDoor(reads) };

const handler: RequestListener = (request, response) => {
  const door = doors[request.url as keyof typeof doors];
  door.use(request as Request, response as Response).catch((error: unknown) => {
    sendProblem(request, response, mapError(error).problem);
  });
};

function send(token: string, path: string): Socket {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  clients.push(client);
  client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${token}\r\n\r\n`);
  return client;
}

/** Reads the beginning of what comes and no more. */
async function ask(token: string, path = '/secrets'): Promise<string> {
  const client = send(token, path);
  const [first] = (await once(client, 'data')) as [Buffer];
  client.pause();
  return first.toString();
}

async function statusOf(token: string): Promise<number> {
  return Number((await ask(token)).split(' ')[1]);
}

beforeEach(async () => {
  [clients, opened] = [[], []];
  gate = Promise.withResolvers();
  server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  gate.resolve();
  for (const client of clients) client.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

test('the largest answer is given, and no other of that service while it is not read', async () => {
  gate.resolve();
  expect(await statusOf('large')).toBe(200);
  const refused = await ask('large');
  expect(refused).toMatch(/^HTTP\/1\.1 429 [^]*\r\nRetry-After: 1\r\n/);
  expect(refused).toContain('"code":"too_many_outstanding"');
  expect(await statusOf('small')).toBe(200);
  for (const client of clients) client.destroy();
  await until('served again', async () => (await statusOf('large')) === 200);
});

test('what is refused for want of room is wiped at once', async () => {
  const answers = [ask('large'), ask('large')];
  gate.resolve();
  await Promise.all(answers);
  const [given, refused] = opened;
  expect(given!.secrets.every(({ value }) => value[0] === 1)).toBe(true);
  expect(refused!.secrets.every(({ value }) => value[0] === 0)).toBe(true);
});

test('what all services together do not read has a bound, and small answers are given all the same', async () => {
  gate.resolve();
  for (let service = 0; service < 12; service++) await ask(`large-${service}`);
  const unread = opened.flatMap(({ secrets }) => secrets).filter(({ value }) => value[0] === 1);
  expect(unread.length * MAX_VALUE_BYTES * 7).toBeLessThan(128 * 1024 * 1024);
  expect(await statusOf('small')).toBe(200);
});

test('many workers of a program are heard at the same time, but not any number, before a secret is opened', async () => {
  const answers: string[] = [];
  for (let worker = 0; worker < 100; worker++) {
    send('small', worker % 2 ? '/secrets' : '/env').once('data', (data) => answers.push(String(data)));
  }
  await until('those too many told', () => answers.length === 43);
  expect(answers.every((answer) => answer.startsWith('HTTP/1.1 429 '))).toBe(true);
  expect(opened).toHaveLength(0);
  gate.resolve();
  await until('the others answered', () => answers.length === 100);
  expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 200 '))).toHaveLength(57);
});
