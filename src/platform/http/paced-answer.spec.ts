import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setInterval as every, setTimeout as pause } from 'node:timers/promises';
import { sendPaced, type AnswerSource } from './paced-answer.js';

const PACE = { bytes: 60 * 1024, withinMs: 600, goneMs: 300 };
const MEBIBYTE = 1024 * 1024;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

let server: Server;
let client: Socket;

async function ask(handler: RequestListener, requests = REQUEST): Promise<void> {
  server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.pause().on('error', () => undefined);
  client.write(requests);
}

/** Asks for the body, and tells what came of it. */
async function askFor(body: AnswerSource, pace = PACE, request = REQUEST): Promise<{ sent: Promise<void> }> {
  const sent = Promise.withResolvers<void>();
  await ask((_request, response) => void sendPaced(body, response, pace).then(sent.resolve, sent.reject), request);
  return { sent: sent.promise };
}

/** Its bytes count up, so that one that is sent before it is there, or after it is gone, is seen. */
class Body implements AnswerSource {
  closed = false;
  there = true;
  private at = 0;

  constructor(private readonly bytes: number) {}

  async read(into: Buffer): Promise<number> {
    if (this.closed) throw new Error('read after it was closed');
    const length = Math.min(this.bytes - this.at, into.length);
    into.fill(0);
    await pause(1);
    for (let index = 0; index < length; index += 4) into.writeUInt32LE((this.at + index) / 4, index);
    this.at += length;
    return length;
  }

  async stillThere(): Promise<boolean> {
    return this.there;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

const bodyOf = (bytes: number): Body => new Body(bytes);

afterEach(() => {
  jest.restoreAllMocks();
  client.destroy();
  server.closeAllConnections();
  server.close();
});

test('a client that reads nothing is cut off, and nothing more is read for it', async () => {
  const [begun, ended] = [jest.spyOn(globalThis, 'setInterval'), jest.spyOn(globalThis, 'clearInterval')];
  const body = bodyOf(Infinity);
  const { sent } = await askFor(body);
  const [connection] = (await once(server, 'connection')) as [Socket];
  await expect(sent).rejects.toThrow('takes too little');
  expect(body.closed).toBe(true);
  expect(connection.destroyed).toBe(true);
  expect(begun).toHaveBeenCalledTimes(1);
  expect(ended).toHaveBeenCalledWith(begun.mock.results[0]!.value);
});

test('so is one that reads for a while and then no more', async () => {
  const body = bodyOf(Infinity);
  const { sent } = await askFor(body);
  let read = 0;
  client.on('data', ({ length }) => (read += length) > 20 * MEBIBYTE && client.pause());
  client.resume();
  await expect(sent).rejects.toThrow('takes too little');
  expect(read).toBeGreaterThan(20 * MEBIBYTE);
  expect(body.closed).toBe(true);
});

test('one that reads slowly but steadily gets all', async () => {
  // On loopback the kernel tells of more than a megabyte at once, which takes this reader a fifth of a second.
  const pace = { ...PACE, withinMs: 1500 };
  const bytes = 16 * MEBIBYTE;
  const body = bodyOf(bytes);
  const { sent } = await askFor(body, pace);
  const began = performance.now();
  let read = 0;
  client.on('readable', () => undefined);
  for await (const _ of every(8)) {
    read += (client.read(64 * 1024) as Buffer | null)?.length ?? 0;
    if (read >= bytes || client.destroyed) break;
  }
  expect(read).toBe(bytes);
  await sent;
  expect(performance.now() - began).toBeGreaterThan(pace.withinMs);
  expect(body.closed).toBe(true);
});

describe('what is deleted while it is read', () => {
  test('is sent for a while and then no more, however fast the client is', async () => {
    const body = bodyOf(Infinity);
    const { sent } = await askFor(body);
    let read = 0;
    client.on('data', ({ length }) => (read += length)).resume();
    const [connection] = (await once(server, 'connection')) as [Socket];
    await once(client, 'data');
    body.there = false;
    const [from, began] = [read, performance.now()];
    await expect(sent).rejects.toThrow('was deleted');
    expect(performance.now() - began).toBeGreaterThan(PACE.goneMs);
    expect(read).toBeGreaterThan(from);
    expect(body.closed).toBe(true);
    expect(connection.destroyed).toBe(true);
  });

  test('comes whole to who is done in time', async () => {
    const body = bodyOf(8 * MEBIBYTE);
    body.there = false;
    const { sent } = await askFor(body, { ...PACE, goneMs: 20_000 });
    client.resume();
    await sent;
  });
});

test('a fast one gets every byte, each once and in order', async () => {
  const bytes = 24 * MEBIBYTE;
  const body = bodyOf(bytes);
  // In this version an answer of unknown length is sent as it is, and ends with the connection.
  const { sent } = await askFor(body, PACE, 'GET / HTTP/1.0\r\n\r\n');
  const pieces: Buffer[] = [];
  client.on('data', (piece: Buffer) => pieces.push(piece)).resume();
  await Promise.all([sent, once(client, 'end')]);
  const answer = Buffer.concat(pieces);
  const content = answer.subarray(answer.indexOf('\r\n\r\n') + 4);
  expect(content.length).toBe(bytes);
  for (let at = 0; at < bytes; at += 4) if (content.readUInt32LE(at) !== at / 4) throw new Error(`wrong at ${at}`);
});

/** What it answers one after the other, and in the end with nothing more. */
const answering = (...answers: (() => Promise<number>)[]): AnswerSource & { closed: boolean } => ({
  closed: false,
  read: () => answers.shift()?.() ?? Promise.resolve(0),
  stillThere: async () => true,
  async close() {
    this.closed = true;
  },
});

test('however slow the store is, it is not the fault of the client', async () => {
  const slowly = () => pause(PACE.withinMs, 10);
  const { sent } = await askFor(answering(slowly, slowly, slowly));
  client.resume();
  await sent;
});

test('a store that fails is told, and it is closed', async () => {
  const body = answering(
    () => Promise.resolve(10),
    () => Promise.reject(new Error('the disk is broken')),
  );
  const { sent } = await askFor(body);
  await expect(sent).rejects.toThrow('the disk is broken');
  expect(body.closed).toBe(true);
});

describe('an answer that waits for the one before it', () => {
  async function askTwice(body: AnswerSource) {
    const began = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    let count = 0;
    const handler: RequestListener = (_request, response) => {
      if (++count === 1) return;
      void sendPaced(body, response, PACE).then(sent.resolve, sent.reject);
      began.resolve();
    };
    await ask(handler, REQUEST + REQUEST);
    await began.promise;
    return { sent: sent.promise };
  }

  test('ends when the client goes away', async () => {
    const body = bodyOf(Infinity);
    const { sent } = await askTwice(body);
    client.destroy();
    await expect(sent).rejects.toThrow('went away');
    expect(body.closed).toBe(true);
  });

  test('does not wait for ever', async () => {
    const body = bodyOf(Infinity);
    const { sent } = await askTwice(body);
    await expect(sent).rejects.toThrow('takes too little');
    expect(body.closed).toBe(true);
  });
});
