import { once } from 'node:events';
import { createServer, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DomainError } from '../errors/domain-error.js';
import { pacedBody } from './paced-body.js';

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
