import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { LocalBlobStore } from '../../../src/drivers/objects/local/local-blob-store.js';
import type { FilePart } from '../../../src/drivers/objects/local/read-part.js';
import type { ThreadedReads } from '../../../src/roles/threaded-reads.js';

/** Threads run what was built. */
const BUILT = join(import.meta.dirname, '../../../dist/src/roles/threaded-reads.js');

let folder: string;
let reads: ThreadedReads;
let store: LocalBlobStore;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-reads-'));
  const built = (await import(BUILT)) as { ThreadedReads: typeof ThreadedReads };
  reads = new built.ThreadedReads();
  store = new LocalBlobStore(folder, (part) => reads.read(part));
});
afterAll(async () => {
  await reads.close();
  rmSync(folder, { recursive: true });
});

async function stored(content: string): Promise<string> {
  return (await store.put(store.newId(), Readable.from([Buffer.from(content)]))).blobId;
}

test('each of many at once gets its own bytes, and what is missing fails alone', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => stored(`content of ${i}.`)));
  const asked = Array.from({ length: 300 }, (_, i) => i % 21);
  const answers = await Promise.allSettled(
    asked.map((i) => store.read(ids[i] ?? '0'.repeat(32), { start: 8, end: 100 })),
  );
  answers.forEach((answer, at) => {
    const i = asked[at]!;
    if (answer.status === 'fulfilled') expect(answer.value.toString()).toBe(`of ${i}.`);
    else expect([i, answer.reason]).toEqual([20, expect.objectContaining({ code: 'not_found' })]);
  });
  expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(asked.filter((i) => i === 20).length);
});

test('bytes of one answer stay as they are while others are read', async () => {
  const [first, second] = await Promise.all([stored('first'), stored('other')]);
  const kept = await store.read(first, { start: 0, end: 4 });
  for (let i = 0; i < 50; i++) await store.read(second, { start: 0, end: 4 });
  expect(kept.toString()).toBe('first');
});

test('a link is not followed', async () => {
  const id = await stored('x');
  const file = join(folder, id.slice(0, 2), id.slice(2, 4), id);
  rmSync(file);
  writeFileSync(join(folder, 'elsewhere'), 'not for you');
  symlinkSync(join(folder, 'elsewhere'), file);
  await expect(store.read(id, { start: 0, end: 0 })).rejects.toMatchObject({ code: 'unavailable' });
});

test('what a thread cannot be asked fails, and whoever asks next gets another one', async () => {
  const id = await stored('still there');
  const strange = { file: () => undefined } as unknown as FilePart;
  await expect(reads.read(strange)).rejects.toThrow('could not be cloned');
  expect((await store.read(id, { start: 0, end: 10 })).toString()).toBe('still there');
});
