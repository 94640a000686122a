import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { LocalBlobStore } from '../../../src/drivers/objects/local/local-blob-store.js';
import type { ThreadedArchiver } from '../../../src/roles/threaded-archiver.js';

/** Threads run what was built. */
const BUILT = join(import.meta.dirname, '../../../dist/src/roles/threaded-archiver.js');

const never = new AbortController().signal;
const opened = Promise.resolve();

/** A thread has a simulated engine of its own, without any container. */
describe('threaded archiver', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-archives-'));
  const store = new LocalBlobStore(folder);
  afterAll(() => rmSync(folder, { recursive: true }));

  let built: typeof import('../../../src/roles/threaded-archiver.js');
  beforeAll(async () => {
    built = (await import(BUILT)) as typeof built;
  });

  function archiver(engineUrl = 'simulator:'): ThreadedArchiver {
    const engine = { url: engineUrl, project: 'berth', pool: 'berth', poolSizeGb: 1 };
    return new built.ThreadedArchiver({ engine, objects: { url: `file:${folder}` }, socketDir: undefined });
  }

  async function stored() {
    const { blobId, sha256 } = await store.put(store.newId(), Readable.from([randomBytes(1_000_000)]));
    return { blobId, checksum: sha256 };
  }

  test('an archive that is what was stored is found whole', async () => {
    await expect(archiver().verify(await stored(), never)).resolves.toBeUndefined();
  });

  test('what the account is told about comes through', async () => {
    const { blobId, checksum } = await stored();
    truncateSync(join(folder, blobId.slice(0, 2), blobId.slice(2, 4), blobId), 999_999);
    const refused = archiver().verify({ blobId, checksum }, never);
    await expect(refused).rejects.toMatchObject({ code: 'backup_damaged' });
    await expect(refused).rejects.toHaveProperty('constructor.name', 'OperationFailed');
    const missing = archiver().verify({ blobId: store.newId(), checksum }, never);
    await expect(missing).rejects.toMatchObject({ code: 'backup_missing', cause: { code: 'not_found' } });
  });

  test('failures of the engine keep their codes, and nothing is stored', async () => {
    const blobId = store.newId();
    const job = { workshop: 'bak-none', blobId, atMost: 1_000_000, atMostUnpacked: 1_000_000 };
    await expect(archiver().pack(job, never, opened)).rejects.toMatchObject({ code: 'not_found' });
    await expect(archiver('unix:/nowhere').pack(job, never, opened)).rejects.toMatchObject({
      code: 'unavailable',
    });
    await expect(store.stat(blobId)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('whoever is told to give up does so for the reason that was given', async () => {
    const archive = await stored();
    const abort = new AbortController();
    const reason = new Error('the lease was lost');
    const verified = archiver().verify(archive, abort.signal);
    abort.abort(reason);
    await expect(verified).rejects.toBe(reason);
    await expect(archiver().verify(archive, abort.signal)).rejects.toBe(reason);
  });

  test('a thread that dies fails the job', async () => {
    await expect(archiver('nonsense:').verify(await stored(), never)).rejects.toThrow('The engine address is');
  });
});
