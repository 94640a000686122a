import { execFile } from 'node:child_process';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const SYSFS = '/sys/fs/btrfs';
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin' };
/** btrfs' highest tree level: no removal is too large to be counted. */
const COUNT_EVERY_REMOVAL = 8;

/** Where engines keep their own files; one that is asked over HTTPS tells nothing else. */
const ENGINE_FOLDERS = ['/var/lib/lxd', '/var/lib/incus'];

/**
 * The file system of a btrfs pool, as the kernel shows it. The kernel holds volumes to their sizes only as long as its
 * counts are consistent; when it gives them up, it says so here and nowhere else, and no limit holds until it has counted
 * anew (btrfs-qgroup(8), first note).
 */
export class BtrfsPool {
  private constructor(
    readonly mount: string,
    private readonly folder: string,
  ) {}

  /** Null where this process sees no btrfs pool of that name: the pool is of another kind, or another machine's. */
  static async find(engineUrl: string, pool: string): Promise<BtrfsPool | null> {
    const folders = engineUrl.startsWith('unix:') ? [dirname(engineUrl.slice('unix:'.length))] : ENGINE_FOLDERS;
    const table = await readFile('/proc/self/mountinfo', 'utf8');
    for (const folder of folders) {
      const mount = join(folder, 'storage-pools', pool);
      const source = btrfsSource(table, mount);
      const found = source === null ? null : await byDevice(basename(source));
      if (found !== null) return new BtrfsPool(mount, found);
    }
    return null;
  }

  /** Whether the kernel holds volumes to their sizes now. True also before the first size is set: nothing to hold yet. */
  async enforces(): Promise<boolean> {
    return (await this.read('inconsistent')) !== '1';
  }

  /**
   * Has the kernel count every removal, however large: by default it gives its counts up when a large volume is removed,
   * so that a tenant could lift everybody's limits. Only root may. Answers whether something was changed.
   */
  async countRemovals(): Promise<boolean> {
    const threshold = await this.read('drop_subtree_threshold');
    if (threshold === null || Number(threshold) >= COUNT_EVERY_REMOVAL) return false;
    await writeFile(join(this.folder, 'qgroups', 'drop_subtree_threshold'), String(COUNT_EVERY_REMOVAL));
    return true;
  }

  /** Has the kernel count anew, and waits for the end; joins a count that is under way. Only root may. */
  async countAnew(signal: AbortSignal): Promise<void> {
    const program = promisify(execFile);
    await program('btrfs', ['quota', 'rescan', '-w', this.mount], { env: ENVIRONMENT, signal });
  }

  private async read(name: string): Promise<string | null> {
    try {
      return (await readFile(join(this.folder, 'qgroups', name), 'utf8')).trim();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }
}

/** The device behind a mount point, by proc_pid_mountinfo(5); the last mount there hides those before. */
function btrfsSource(table: string, mount: string): string | null {
  let source: string | null = null;
  for (const line of table.split('\n')) {
    const [place, rest] = line.split(' - ');
    if (rest === undefined || place!.split(' ')[4] !== mount) continue;
    const [type, device] = rest.split(' ');
    source = type === 'btrfs' ? device! : null;
  }
  return source;
}

async function byDevice(device: string): Promise<string | null> {
  for (const id of await readdir(SYSFS)) {
    const devices = await readdir(join(SYSFS, id, 'devices')).catch((): string[] => []);
    if (devices.includes(device)) return join(SYSFS, id);
  }
  return null;
}
