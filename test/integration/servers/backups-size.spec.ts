import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { Engine, ExecSession } from '../../../src/drivers/engine/engine.js';
import { LocalBlobStore } from '../../../src/drivers/objects/local/local-blob-store.js';
import { StreamingArchiver } from '../../../src/modules/servers/backups/lifecycle/streaming-archiver.js';

const PIECE = Buffer.alloc(1000, 'x');

/** A `tar` that writes so many pieces of an archive, or goes on until it is ended. */
class Packing {
  ended = false;

  constructor(private readonly pieces: number) {}

  /** All that a packing archiver asks of an engine. */
  readonly engine = { exec: () => Promise.resolve(this.session()) } as unknown as Engine;

  private session(): ExecSession {
    const stdout = Readable.from(this.archive());
    const stdin = new Writable({ write: (_chunk, _encoding, done) => done() });
    const kill = async (): Promise<void> => {
      this.ended = true;
    };
    return { stdin, stdout, stderr: Readable.from([]), exit: Promise.resolve(0), kill };
  }

  private *archive(): Generator<Buffer, void> {
    for (let piece = 0; piece < this.pieces && !this.ended; piece++) yield PIECE;
  }
}

describe('the size of an archive', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-archives-'));
  const store = new LocalBlobStore(folder);
  afterAll(() => rmSync(folder, { recursive: true }));

  function pack(packing: Packing, blobId: string, atMost: number) {
    const archiver = new StreamingArchiver(packing.engine, store);
    return archiver.pack(
      { workshop: 'bak', blobId, atMost, atMostUnpacked: atMost },
      new AbortController().signal,
      Promise.resolve(),
    );
  }

  test('may be all that is allowed', async () => {
    const blobId = store.newId();
    await expect(pack(new Packing(50), blobId, 50_000)).resolves.toMatchObject({ size: 50_000 });
    await expect(store.stat(blobId)).resolves.toMatchObject({ size: 50_000 });
  });

  test('is bounded: one without end is ended, and nothing of it is kept', async () => {
    const blobId = store.newId();
    const endless = new Packing(Infinity);
    await expect(pack(endless, blobId, 50_000)).rejects.toMatchObject({ code: 'backup_too_large' });
    expect(endless.ended).toBe(true);
    const left = [];
    for await (const entry of store.list()) left.push(entry.blobId);
    expect(left).not.toContain(blobId);
  });
});
