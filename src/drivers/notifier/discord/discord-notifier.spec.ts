import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { DiscordNotifier } from './discord-notifier.js';
import { NotifierError } from '../notifier.js';

const TOKEN = 'MTIzNDU2Nzg5.secret.token-of-the-bot';
const PERSON = '123456789012345678';
const CHANNEL = '987654321098765432';

interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: unknown;
}

type Reply = (response: ServerResponse) => void;

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

const opened = json(200, { id: CHANNEL, type: 1 });

/** What the API would say, one reply after the other. */
let replies: Reply[] = [];
let asked: Asked[] = [];
let server: Server;
let notifier: DiscordNotifier;

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      asked.push({ method, path, headers, body: JSON.parse(text) });
      (replies.shift() ?? json(500, {}))(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  notifier = new DiscordNotifier({ url: `http://127.0.0.1:${port}/api/v10`, token: TOKEN, timeoutMs: 300 });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  replies = [];
  asked = [];
});

const send = () =>
  notifier.sendPrivateMessage(
    PERSON,
    'Your service "@everyone" uses 91 % of its memory.',
    'ntf_01jabcdefghijklmnopqrstuvwx',
  );

async function failure(): Promise<NotifierError> {
  const error = await send().then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(NotifierError);
  expect(inspect(error, { depth: 10 })).not.toContain('secret.token');
  return error as NotifierError;
}

test('opens a channel to the person and writes there once, calling nobody else', async () => {
  replies = [opened, json(200, { id: '1' })];
  await send();
  expect(asked).toMatchObject([
    { method: 'POST', path: '/api/v10/users/@me/channels', body: { recipient_id: PERSON } },
    {
      method: 'POST',
      path: `/api/v10/channels/${CHANNEL}/messages`,
      body: {
        content: 'Your service "@everyone" uses 91 % of its memory.',
        allowed_mentions: { parse: [] },
        enforce_nonce: true,
      },
    },
  ]);
  const { nonce } = asked[1]!.body as { nonce: string };
  expect(nonce).toBe('jabcdefghijklmnopqrstuvwx');
  for (const { headers } of asked) {
    expect(headers).toMatchObject({ authorization: `Bot ${TOKEN}`, 'content-type': 'application/json' });
  }
});

test.each<[string, Reply[], Partial<NotifierError>]>([
  [
    '401 on the channel',
    [json(401, { message: '401: Unauthorized', code: 0 })],
    { code: 'unauthorized', message: 'The chat platform answered 401 (0).' },
  ],
  [
    '403 on the message',
    [opened, json(403, { message: 'Cannot send messages to this user', code: 50007 })],
    { code: 'refused', message: 'The chat platform answered 403 (50007).' },
  ],
  ['404 on the channel', [json(404, { code: 10013 })], { code: 'refused' }],
  ['400 on the channel', [json(400, { code: 50033 })], { code: 'refused' }],
  [
    '429 by header',
    [json(429, {}, { 'retry-after': '7' })],
    { code: 'rate_limited', retryAfterMs: 7000, forAll: false },
  ],
  [
    '429 by body',
    [opened, json(429, { retry_after: 2.345, global: true })],
    { code: 'rate_limited', retryAfterMs: 2345, forAll: true },
  ],
  [
    '429 for all by header',
    [opened, json(429, { retry_after: 2 }, { 'x-ratelimit-global': 'true' })],
    { code: 'rate_limited', forAll: true },
  ],
  [
    '429 of the channel',
    [opened, json(429, { retry_after: 2, global: false }, { 'x-ratelimit-scope': 'user' })],
    { code: 'rate_limited', forAll: false },
  ],
  [
    '429 of what stands before the API',
    [(response) => response.writeHead(429, { 'retry-after': '900' }).end('error code: 1015')],
    { code: 'rate_limited', retryAfterMs: 900_000, forAll: true },
  ],
  [
    '429 by both',
    [json(429, { retry_after: 2.5 }, { 'retry-after': '3' })],
    { code: 'rate_limited', retryAfterMs: 3000 },
  ],
  ['429 without a time', [json(429, {})], { code: 'rate_limited', retryAfterMs: 5000 }],
  ['429 for a year', [json(429, {}, { 'retry-after': '31536000' })], { code: 'rate_limited', retryAfterMs: 3600_000 }],
  [
    '429 with nonsense',
    [json(429, { retry_after: 'soon' }, { 'retry-after': 'Fri, 01 Jan 2027 00:00:00 GMT' })],
    { code: 'rate_limited', retryAfterMs: 5000 },
  ],
  ['500', [json(500, {})], { code: 'unavailable' }],
  ['503 on the message', [opened, json(503, {})], { code: 'unavailable' }],
  [
    'a redirect',
    [(response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    { code: 'unavailable' },
  ],
  ['no JSON', [(response) => response.writeHead(200).end('<html>')], { code: 'unavailable' }],
  ['JSON of another shape', [json(200, ['1'])], { code: 'unavailable' }],
  ['a channel that is a path', [json(200, { id: '../../webhooks/1' })], { code: 'unavailable' }],
  [
    'an answer without end',
    [(response) => void response.writeHead(200).write('x'.repeat(200_000))],
    { code: 'unavailable' },
  ],
  ['silence', [() => undefined], { code: 'unavailable' }],
  ['a body that stops half way', [(response) => void response.writeHead(200).write('{"id":')], { code: 'unavailable' }],
  ['a hang-up', [(response) => void response.destroy()], { code: 'unavailable' }],
])('%s', async (_name, given, expected) => {
  replies = given;
  expect(await failure()).toMatchObject(expected);
});

test('nobody listens', async () => {
  const away = new DiscordNotifier({ url: 'http://127.0.0.1:1', token: TOKEN });
  await expect(away.sendPrivateMessage(PERSON, 'x', 'y')).rejects.toMatchObject({ code: 'unavailable' });
});

test('a message that was taken counts as sent whatever else is said', async () => {
  replies = [opened, (response) => response.writeHead(200).end('<html>')];
  await expect(send()).resolves.toBeUndefined();
});
