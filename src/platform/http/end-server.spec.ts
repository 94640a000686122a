import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { endServer } from './end-server.js';

const GRACE_MS = 500;

async function listening(handler: RequestListener): Promise<Server> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function connected(server: Server): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
  return socket;
}

function* pieces(total: number): Generator<Buffer> {
  for (let sent = 0; sent < total; sent += 1 << 20) yield Buffer.alloc(1 << 20);
}

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe('the end of a server', () => {
  test('an answer under way is brought to its end', async () => {
    let answer = () => {};
    const server = await listening((_request, response) => (answer = () => void response.end('whole')));
    const socket = await connected(server);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(REQUEST);
    await once(server, 'request');
    const ended = Promise.all([endServer(server, GRACE_MS), once(socket, 'close')]);
    answer();
    await ended;
    expect(text).toContain('whole');
  });

  const held: [who: string, send: string, body: number][] = [
    ['connected and asks nothing', '', 0],
    ['sent half of a request', REQUEST.slice(0, 20), 0],
    ['does not read its answer', REQUEST, 64 << 20],
  ];
  test.each(held)('is not held up by a client that %s', async (_who, send, body) => {
    const server = await listening((_request, response) => void Readable.from(pieces(body)).pipe(response));
    const socket = await connected(server);
    socket.on('error', () => {});
    socket.write(send);
    if (body > 0) await once(server, 'request');
    socket.pause();
    await endServer(server, GRACE_MS);
    expect(server.listening).toBe(false);
    socket.destroy();
  });

  test('one that never listened, or has ended, is no fault', async () => {
    const server = createServer();
    await endServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await endServer(server);
    await endServer(server);
  });
});
