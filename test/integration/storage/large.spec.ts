import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setLimits } from '../../support/own-plan.js';
import { startBerth, type Berth } from '../../support/app.js';
import { StorageClient } from './storage-client.js';

jest.setTimeout(300_000);

const SIZE = 2 * 2 ** 30;
const PIECE = randomBytes(2 ** 20);
const GROWTH_MB = 64;

let berth: Berth;
let client: StorageClient;

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker']] });
  const account = await berth.makeAccount();
  await setLimits(berth, account, { storage_bytes: 2 * SIZE });
  client = new StorageClient(berth, account);
});
afterAll(() => berth?.close());

/** Pieces of the object; no two at the same place of two pieces, so that none can stand for another. */
function* pieces(): Generator<Buffer> {
  for (let sent = 0; sent < SIZE; sent += PIECE.length) {
    const piece = Buffer.from(PIECE);
    piece.writeUInt32BE(sent / PIECE.length, 0);
    yield piece;
  }
}

const residentMb = (): number => {
  const status = readFileSync(`/proc/${berth.process('api').pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
};

/** Megabytes that the process has more at the most than at the beginning. */
async function growth(work: () => Promise<void>): Promise<number> {
  const before = residentMb();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, residentMb())), 50);
  await work().finally(() => clearInterval(timer));
  return most - before;
}

test('two gigabytes come in and go out whole, a little at a time', async () => {
  const bucket = await client.bucket('large');
  // What any first object needs is not its share.
  await client.put(bucket, 'small', randomBytes(2 ** 22));
  const wanted = createHash('sha256');
  const put = await growth(async () => {
    const { request, answer } = client.begin(bucket, 'large', { 'content-length': String(SIZE) });
    const watched = Readable.from(pieces()).on('data', (piece: Buffer) => wanted.update(piece));
    await pipeline(watched, request);
    expect((await answer).status).toBe(201);
  });
  const found = createHash('sha256');
  const got = await growth(async () => {
    const response = await client.stream(bucket, 'large');
    response.on('data', (chunk: Buffer) => found.update(chunk));
    await once(response, 'end');
  });
  expect(found.digest('hex')).toBe(wanted.digest('hex'));
  expect(put).toBeLessThan(GROWTH_MB);
  expect(got).toBeLessThan(GROWTH_MB);
});
