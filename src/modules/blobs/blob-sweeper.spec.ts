import { mkdirSync, mkdtempSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { LocalBlobStore } from '../../drivers/objects/local/local-blob-store.js';
import { BlobOwners } from './blob-owners.service.js';
import { BlobSweeperWorker } from './blob-sweeper.worker.js';

test('what cannot be swept holds up nothing else', async () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-sweep-'));
  const store = new LocalBlobStore(root);
  const ids = Array.from({ length: 8 }, () => store.newId());
  for (const id of ids) await store.put(id, Readable.from([Buffer.from('x')]));
  const [held, owned] = ids as [string, string];
  const file = join(root, held.slice(0, 2), held.slice(2, 4), held);
  unlinkSync(file);
  mkdirSync(file);
  const owners = new BlobOwners();
  owners.register(async () => [owned]);
  const [warned, inc] = [jest.fn(), jest.fn()];
  const sweeper = new BlobSweeperWorker(
    {} as never,
    store,
    owners,
    { warn: warned } as never,
    { counter: () => ({ inc }) } as never,
  );
  await sweeper.sweep(new Date(Date.now() + 25 * 3_600_000));
  const left: string[] = [];
  for await (const { blobId } of store.list()) left.push(blobId);
  expect(left.sort()).toEqual([held, owned].sort());
  expect(inc).toHaveBeenCalledTimes(6);
  expect(warned).toHaveBeenCalledWith(expect.objectContaining({ blobIds: [held] }), expect.anything());
  rmSync(root, { recursive: true });
});
