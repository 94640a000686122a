import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Batcher } from '../batching/batcher.js';

const LINE = /^([a-z]+:[0-9a-z_]+) (\d{1,15}|-)$/;
const COMPACT_FROM_BYTES = 1024 * 1024;
const LINE_BYTES = 48;

/**
 * The highest epoch that each name has reached, in a file of its own beside the database: whoever puts an old database back
 * does not put this back. Lines are only ever added, `name epoch`, and synced before anybody goes on; `name -` forgets one.
 * Several processes of a machine share the file, each reads what the others added.
 */
export class AnchorFile {
  private readonly epochs = new Map<string, number>();
  private readonly forgotten = new Set<string>();
  private inode = 0n;
  private position = 0;
  private tail = '';
  private readonly writes = new Batcher<string, void>((lines) => this.append(lines), { items: 1000, atOnce: 1 });

  constructor(
    private readonly file: string,
    private readonly compactFrom = COMPACT_FROM_BYTES,
  ) {}

  /** What each name has reached, 0 for one that is not known. Ask before the database is asked. */
  floors(names: readonly string[]): number[] {
    this.refresh();
    return names.map((name) => this.epochs.get(name) ?? 0);
  }

  /** All that is known. */
  names(): string[] {
    this.refresh();
    return [...this.epochs.keys()];
  }

  /** Notes that the name has reached the epoch; resolves when that is on the disk. */
  async raise(name: string, epoch: number): Promise<void> {
    if (epoch <= (this.epochs.get(name) ?? 0) || this.forgotten.has(name)) return;
    await this.writes.add(`${name} ${epoch}`);
  }

  /** For a name that is gone for good and never comes back. */
  async forget(name: string): Promise<void> {
    this.refresh();
    if (this.epochs.has(name)) await this.writes.add(`${name} -`);
  }

  private async append(lines: string[]): Promise<void[]> {
    const made = this.stat() === null ? await make(this.file, dirname(this.file)) : null;
    const handle = made ?? (await open(this.file, 'a', 0o600));
    try {
      // What a process that died left of its last line must not become part of ours.
      await handle.appendFile(`\n${lines.join('\n')}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    if (made) await this.syncFolder();
    // Known before the file is looked at: it may have been replaced in the middle, and then they go in again.
    for (const line of lines) this.take(line);
    this.refresh();
    if (this.position > Math.max(this.compactFrom, 4 * LINE_BYTES * this.epochs.size)) await this.compact();
    return lines.map(() => undefined);
  }

  /** Takes in what was added since the last look. A file that takes the place of the known one is read from its start. */
  private refresh(): void {
    const stats = this.stat();
    if (stats === null) return;
    const replaced = stats.ino !== this.inode || Number(stats.size) < this.position;
    if (!replaced && Number(stats.size) === this.position) return;
    const descriptor = openSync(this.file, 'r');
    try {
      const before = replaced && this.inode !== 0n ? new Map(this.epochs) : null;
      if (replaced) Object.assign(this, { position: 0, tail: '', inode: fstatSync(descriptor, { bigint: true }).ino });
      this.readOn(descriptor);
      if (before) this.mend(before);
    } finally {
      closeSync(descriptor);
    }
  }

  private readOn(descriptor: number): void {
    const chunk = Buffer.allocUnsafe(65_536);
    for (;;) {
      const length = readSync(descriptor, chunk, 0, chunk.length, this.position);
      if (length === 0) return;
      this.position += length;
      const lines = (this.tail + chunk.toString('latin1', 0, length)).split('\n');
      this.tail = lines.pop()!;
      for (const line of lines) this.take(line);
    }
  }

  private take(line: string): void {
    const [, name, epoch] = LINE.exec(line) ?? [];
    if (!name || !epoch) return;
    if (epoch === '-') {
      this.epochs.delete(name);
      this.forgotten.add(name);
    } else if (!this.forgotten.has(name)) {
      this.epochs.set(name, Math.max(Number(epoch), this.epochs.get(name) ?? 0));
    }
  }

  /** Who wrote the file anew may have missed what was added in that moment: what this process knew goes in again. */
  private mend(before: Map<string, number>): void {
    for (const [name, epoch] of before) {
      if (this.forgotten.has(name)) continue;
      this.epochs.set(name, Math.max(epoch, this.epochs.get(name) ?? 0));
      void this.writes.add(`${name} ${this.epochs.get(name)}`).catch(() => undefined);
    }
  }

  private async compact(): Promise<void> {
    const draft = `${this.file}.${randomBytes(6).toString('hex')}.new`;
    try {
      const handle = (await make(draft, this.file))!;
      try {
        await handle.writeFile([...this.epochs].map(([name, epoch]) => `${name} ${epoch}\n`).join(''));
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await rename(draft, this.file);
      await this.syncFolder();
    } catch {
      // What was to be noted is noted; the file stays long until the next time.
      await rm(draft, { force: true });
    }
    this.refresh();
  }

  private async syncFolder(): Promise<void> {
    const folder = await open(dirname(this.file), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  private stat(): { ino: bigint; size: bigint } | null {
    return statSync(this.file, { bigint: true, throwIfNoEntry: false }) ?? null;
  }
}

/**
 * Makes a file, to be added to; null when there is one. One that root makes, as operators' commands may run as root, belongs
 * to whom the other one belongs to: the api could not open it.
 */
async function make(file: string, like: string): Promise<FileHandle | null> {
  const handle = await open(file, 'ax', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return null;
    throw error;
  });
  if (!handle || process.geteuid!() !== 0) return handle;
  try {
    const { uid, gid } = await stat(like);
    await handle.chown(uid, gid);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}
