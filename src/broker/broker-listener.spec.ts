import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { freePort } from '../../test/support/free-ports.js';
import { until } from '../../test/support/until.js';
import { BrokerListener } from './broker-listener.js';

const REQUEST = 'GET /v1/secrets HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

let listener: BrokerListener;
let port: number;
let clients: Client[];
/** Those that were handed on; none is answered until it is let go. */
let asked: ServerResponse[];

class Client {
  text = '';
  ended = false;
  private constructor(readonly socket: Socket) {
    socket.on('data', (part: Buffer) => (this.text += part.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => (this.ended = true));
  }

  static async from(localAddress: string): Promise<Client> {
    const client = new Client(connect({ port, host: '127.0.0.1', localAddress }));
    clients.push(client);
    await once(client.socket, 'connect');
    return client;
  }

  get status(): number | 'cut' | 'open' {
    if (this.text !== '') return Number(this.text.split(' ')[1]);
    return this.ended ? 'cut' : 'open';
  }
}

async function start(many?: number): Promise<void> {
  port = await freePort();
  listener = new BrokerListener((_request, response) => void asked.push(response), many);
  await listener.listen(port, '127.0.0.1');
}

/** One after another, each with its request sent. */
async function ask(count: number, localAddress: string): Promise<Client[]> {
  const some: Client[] = [];
  for (let n = 0; n < count; n++) {
    const client = await Client.from(localAddress);
    client.socket.write(REQUEST);
    some.push(client);
  }
  return some;
}

function counts(of: Client[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { status } of of) found[status] = (found[status] ?? 0) + 1;
  return found;
}

beforeEach(() => {
  clients = [];
  asked = [];
});
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await listener.close();
});

test('sixty-four workers of one program are heard at the same time', async () => {
  await start();
  const workers = await ask(64, '127.0.0.2');
  await until('all heard', () => asked.length === 64);
  for (const response of asked) response.end('{}');
  await until('all answered', () => workers.every(({ status }) => status === 200));
});

test('one more is told when to come again, and its connection ends; a neighbour is heard', async () => {
  await start();
  await ask(64, '127.0.0.2');
  const [late] = await ask(1, '127.0.0.2');
  await until('told', () => late!.ended);
  expect(late!.text).toMatch(/^HTTP\/1\.1 429 /);
  expect(late!.text).toMatch(/\r\nRetry-After: 1\r\n/);
  expect(late!.text).toContain('"code":"too_many_connections"');
  await ask(1, '127.0.0.3');
  await until('the neighbour heard', () => asked.length === 65);
  asked[0]!.end();
  asked[0]!.socket!.destroy();
  await until('a place free', () => clients[0]!.ended);
  await ask(1, '127.0.0.2');
  await until('heard', () => asked.length === 66);
});

test('what one source can hold is bounded, and what is too many is held for a moment only', async () => {
  await start();
  const silent = await Promise.all(Array.from({ length: 200 }, () => Client.from('127.0.0.2')));
  await until('the rest cut', () => counts(silent)['cut'] === 200 - 2 * 64);
  await until('those too many cut', () => counts(silent)['cut'] === 200 - 64);
});

test('with many connections in all, each source has its share', async () => {
  await start(100);
  await ask(64, '127.0.0.2');
  await ask(36, '127.0.0.3');
  const third = await ask(20, '127.0.0.4');
  await until('answered', () => counts(third)['open'] === 8);
  await until('told or cut', () => counts(third)['429'] === 12 && asked.length === 108);
  const greedy = await Promise.all(Array.from({ length: 20 }, () => Client.from('127.0.0.2')));
  await until('the rest cut', () => counts(greedy)['cut'] === 12);
});

test('all connections of an address that is nobody’s any more end', async () => {
  await start();
  const some = await ask(10, '127.0.0.2');
  await until('heard', () => asked.length === 10);
  const [other] = await ask(1, '127.0.0.3');
  listener.cutOff('127.0.0.2');
  await until('cut', () => some.every(({ ended }) => ended));
  expect(other!.ended).toBe(false);
});
