import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { WebSocketServer, type WebSocket } from 'ws';
import { openStream, readableOf } from './lxd-socket.js';

const OUTPUT = 'all that the program printed\n';

describe.each(['Unix socket', 'TCP'])('a stream of the engine over %s', (transport) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-stream-'));
  const socketPath = join(folder, 'engine.sock');
  let http: Server;
  let url: string;

  beforeAll(async () => {
    http = createServer();
    http.listen(transport === 'TCP' ? { host: '127.0.0.1', port: 0 } : { path: socketPath });
    await once(http, 'listening');
    url = transport === 'TCP' ? `ws://127.0.0.1:${(http.address() as AddressInfo).port}` : `ws+unix:${socketPath}:`;
  });

  afterAll(() => {
    http.close();
    rmSync(folder, { recursive: true });
  });

  /** What is read of a stream that was closed, as the engine does, before its first byte was asked for. */
  async function readLate(messages: [data: string, binary: boolean][]): Promise<string> {
    const engine = new WebSocketServer({ server: http });
    // The engine pings whoever connects.
    engine.on('connection', (socket) => socket.ping('keepalive'));
    const connected = once(engine, 'connection') as Promise<[WebSocket, { socket: NodeJS.Socket }]>;
    const stream = await openStream(
      { origin: '', connect: {}, webSocketUrl: (path) => `${url}${path}`, webSocketOptions: {} },
      '/1.0/operations/1',
      'secret',
    );
    const [socket, { socket: connection }] = await connected;
    await Promise.all(messages.map(([data, binary]) => new Promise((sent) => socket.send(data, { binary }, sent))));
    const closed = once(connection, 'close');
    socket.terminate();
    await closed;
    engine.close();
    return text(readableOf(stream));
  }

  test('is read whole', async () => {
    const messages: [string, boolean][] = [
      [OUTPUT, true],
      ['', false],
    ];
    expect(await readLate(messages)).toBe(OUTPUT);
  });

  test('is not taken for whole without its end', async () => {
    await expect(readLate([[OUTPUT, true]])).rejects.toMatchObject({ code: 'unavailable' });
  });
});
