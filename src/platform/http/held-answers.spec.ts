import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setInterval as every } from 'node:timers/promises';
import { HeldAnswers } from './held-answers.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const LIMITS = { leastBytes: 10, withinMs: 60_000, roomBytes: 1000 };
const LARGE = Buffer.alloc(20 * 1024 * 1024);
const TOO_MANY = expect.objectContaining({ kind: 'rate_limited', code: 'too_many_outstanding' }) as unknown;

let server: Server;
let client: Socket;

/** The server's side of requests that one client sends without waiting. */
async function ask(count = 1): Promise<ServerResponse[]> {
  const responses: ServerResponse[] = [];
  server.on('request', (_request, response: ServerResponse) => responses.push(response));
  client.write(REQUEST.repeat(count));
  while (responses.length < count) await once(server, 'request');
  return responses;
}

function fill(held: HeldAnswers, service: string, response: ServerResponse): number {
  for (let count = 0; count < 100; count++) {
    try {
      held.begin(service, response);
    } catch (error) {
      expect(error).toEqual(TOO_MANY);
      return count;
    }
  }
  throw new Error('there is always room');
}

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  server.setMaxListeners(0);
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.pause().on('error', () => undefined);
});
afterEach(() => {
  jest.restoreAllMocks();
  client.destroy();
  server.closeAllConnections();
  server.close();
});

test('a service has its share of what is left, and whatever others have, there is some for the next', async () => {
  const held = new HeldAnswers(LIMITS);
  const [response] = await ask();
  response!.setMaxListeners(0);
  const counts = Array.from({ length: 10 }, (_, number) => fill(held, `srv_${number}`, response!));
  expect(counts).toEqual([11, 10, 8, 8, 7, 6, 5, 5, 4, 4]);
  expect(counts.reduce((sum, count) => sum + count) * LIMITS.leastBytes).toBeLessThan(LIMITS.roomBytes);
  response!.end();
  await once(response!, 'close');
  const [next] = await ask();
  next!.setMaxListeners(0);
  expect(fill(held, 'srv_9', next!)).toBe(11);
});

test('one that turns out heavy leaves no room for more of the same service until its response closes', async () => {
  const held = new HeldAnswers(LIMITS);
  const [first, second] = await ask(2);
  const heavy = held.begin('srv_a', first!);
  heavy.weigh(10);
  heavy.weigh(100);
  expect(() => heavy.weigh(100)).toThrow(TOO_MANY as Error);
  expect(() => held.begin('srv_a', second!)).toThrow(TOO_MANY as Error);
  held.begin('srv_b', second!).weigh(90);
  heavy.end(Buffer.from('{}'));
  await once(first!, 'close');
  held.begin('srv_a', second!);
});

test('those that wait for one before them weigh no more once the client is gone, nor do later ones', async () => {
  const held = new HeldAnswers(LIMITS);
  const responses = await ask(5);
  for (const response of responses) held.begin('srv_a', response);
  const closed = responses.map((response) => once(response, 'close'));
  client.destroy();
  await Promise.all(closed);
  expect(() => held.begin('srv_a', responses[0]!)).toThrow('went away');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [next] = await ask();
  held.begin('srv_a', next!).weigh(110);
});

test('a client that takes a little now and then is cut off all the same', async () => {
  const [response] = await ask();
  const closed = once(response!, 'close');
  new HeldAnswers({ ...LIMITS, withinMs: 300 }).begin('srv_a', response!).end(LARGE);
  client.on('readable', () => undefined);
  for await (const _ of every(5)) {
    client.read(1024);
    if (response!.closed) break;
  }
  await closed;
  expect(response!.writableFinished).toBe(false);
});

test('so is one whose answer waits for another that never comes', async () => {
  const [, second] = await ask(2);
  const closed = once(second!, 'close');
  new HeldAnswers({ ...LIMITS, withinMs: 300 }).begin('srv_a', second!).end(Buffer.from('{}'));
  await closed;
  expect(second!.writableFinished).toBe(false);
});

test('what the kernel takes at once is watched by no timer, and a timer ends with its answer', async () => {
  const held = new HeldAnswers(LIMITS);
  const [begun, ended] = [jest.spyOn(globalThis, 'setTimeout'), jest.spyOn(globalThis, 'clearTimeout')];
  const [small] = await ask();
  held.begin('srv_a', small!).end(Buffer.alloc(4096));
  await once(small!, 'close');
  expect(begun).not.toHaveBeenCalled();
  const [large] = await ask();
  held.begin('srv_a', large!).end(LARGE);
  client.resume();
  await once(large!, 'close');
  expect(begun).toHaveBeenCalledTimes(1);
  expect(ended).toHaveBeenCalledWith(begun.mock.results[0]!.value);
});
