import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { DomainError } from '../errors/domain-error.js';
import { limitBody, pacedBody } from './paced-body.js';

const PACE = { idleMs: 150, bytesPerSecond: 1000 };

let server: Server;
let outcome: Promise<number>;
let url: string;

beforeEach(async () => {
  let settle: (work: Promise<number>) => void;
  outcome = new Promise<number>((resolve) => (settle = resolve));
  server = createServer((request, response) => {
    const read = async (): Promise<number> => {
      let size = 0;
      for await (const chunk of pacedBody(request, PACE)) {
        size += chunk.length;
        if (size > 1_000_000) break;
        // However slow we are, it is not the client's fault.
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      response.end();
      return size;
    };
    settle(read());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => server.close());

function begin() {
  const request = send(url, { method: 'PUT', agent: false });
  request.on('error', () => undefined);
  request.flushHeaders();
  return request;
}

test('what comes steadily is taken, however long it takes', async () => {
  const request = begin();
  for (let sent = 0; sent < 10; sent++) {
    request.write(Buffer.alloc(1000));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  request.end();
  expect(await outcome).toBe(10_000);
});

test('a client that falls silent is cut off', async () => {
  begin().write(Buffer.alloc(10));
  await expect(outcome).rejects.toBeInstanceOf(DomainError);
});

test('so is one that sends a byte now and then', async () => {
  const request = begin();
  const timer = setInterval(() => request.write('x'), 50);
  await expect(outcome).rejects.toMatchObject({ code: 'body_incomplete' });
  clearInterval(timer);
});

test('so is one that goes away', async () => {
  const request = begin();
  request.write(Buffer.alloc(10), () => request.destroy());
  await expect(outcome).rejects.toMatchObject({ code: 'body_incomplete' });
});

test('whoever has read enough can answer', async () => {
  const request = begin();
  const answered = once(request, 'response');
  request.write(Buffer.alloc(1_200_000));
  await answered;
  expect(await outcome).toBeGreaterThan(1_000_000);
  request.destroy();
});

test('beyond its limit nothing is read, and what is announced as larger is not read at all', async () => {
  const requestOf = (headers: Record<string, string>) => {
    let asked = 0;
    const pieces = function* (): Generator<Buffer> {
      for (; asked < 100; asked++) yield Buffer.alloc(10);
    };
    const stream: object = Readable.from(pieces(), { objectMode: true, highWaterMark: 1 });
    return { request: Object.assign(stream as IncomingMessage, { headers }), asked: () => asked };
  };
  const { request, asked } = requestOf({ 'transfer-encoding': 'chunked' });
  limitBody(request, 50);
  let size = 0;
  const read = async () => {
    for await (const chunk of pacedBody(request)) size += chunk.length;
  };
  await expect(read()).rejects.toMatchObject({ code: 'body_too_large', extra: { members: { maxBytes: 50 } } });
  expect(size).toBe(50);
  expect(asked()).toBeLessThan(10);
  expect(() => limitBody(requestOf({ 'content-length': '51' }).request, 50)).toThrow(DomainError);
  limitBody(requestOf({ 'content-length': '50' }).request, 50);
});
