import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { BtrfsPool } from '../../src/node/disk-limits/btrfs-pool.js';
import { DiskLimits } from '../../src/node/disk-limits/disk-limits.js';
import { createLogger } from '../../src/platform/observability/logger.js';
import { hasLxd } from './support/lxd-target.js';
import { until } from '../support/until.js';

const MB = 2 ** 20;
/** Node has no name for it on Linux. */
const EDQUOT = 122;
const POOL = 'pool';

/** A pool as an engine lays it out, on a file system of its own. */
(hasLxd ? describe : describe.skip)('disk limits of a btrfs pool', () => {
  let folder: string;
  let mount: string;
  let url: string;
  const run = promisify(execFile);
  const btrfs = async (...args: string[]) => (await run('btrfs', args)).stdout;
  const write = (name: string, bytes: number) => writeFile(join(mount, name), Buffer.alloc(bytes, 1), { flush: true });
  const pool = async () => (await BtrfsPool.find(url, POOL))!;
  const threshold = async () => {
    const { stdout: id } = await run('findmnt', ['--noheadings', '--output', 'UUID', mount]);
    return `/sys/fs/btrfs/${id.trim()}/qgroups/drop_subtree_threshold`;
  };
  const keeper = () => new DiskLimits(url, POOL, createLogger({ logLevel: 'fatal' }));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-limits-'));
    mount = join(folder, 'storage-pools', POOL);
    url = `unix:${join(folder, 'unix.socket')}`;
    await mkdir(mount, { recursive: true });
    const file = join(folder, 'pool.img');
    await writeFile(file, '');
    await truncate(file, 512 * MB);
    await run('mkfs.btrfs', ['--quiet', file]);
    await run('mount', ['-o', 'loop', file, mount]);
    await btrfs('subvolume', 'create', join(mount, 'image'));
    await write('image/base', 8 * MB);
    // Enough that the tree of what is shared has more than one level.
    for (let i = 0; i < 2000; i++) await writeFile(join(mount, 'image', `file-${i}`), '');
  }, 60_000);

  afterAll(async () => {
    await run('umount', [mount]);
    await rm(folder, { recursive: true });
  });

  it('is no business of it before any volume has a size, nor are pools it does not see', async () => {
    expect(await (await pool()).enforces()).toBe(true);
    expect(await BtrfsPool.find(url, 'other')).toBeNull();
    expect(await BtrfsPool.find('https://127.0.0.1:1', POOL)).toBeNull();
  });

  it('repairs a pool whose counts the kernel gave up, and keeps it from giving them up for a large removal', async () => {
    await btrfs('quota', 'enable', mount);
    const volume = join(mount, 'volume');
    await btrfs('subvolume', 'snapshot', join(mount, 'image'), volume);
    await btrfs('quota', 'rescan', '-w', mount);
    await btrfs('qgroup', 'limit', String(24 * MB), volume);
    await expect(write('volume/much', 64 * MB)).rejects.toMatchObject({ errno: -EDQUOT });
    await rm(join(volume, 'much'), { force: true });

    // A removal that is too large to be counted: here that is any.
    await writeFile(await threshold(), '0');
    await btrfs('subvolume', 'snapshot', join(mount, 'image'), join(mount, 'removed'));
    await btrfs('subvolume', 'delete', '--commit-after', join(mount, 'removed'));
    await btrfs('subvolume', 'sync', mount);
    expect(await (await pool()).enforces()).toBe(false);
    await write('volume/much', 64 * MB);
    await rm(join(volume, 'much'));

    const limits = keeper();
    limits.start();
    try {
      await until('the pool holds its limits again', async () => (await pool()).enforces());
      await expect(write('volume/much', 64 * MB)).rejects.toMatchObject({ errno: -EDQUOT });
      await until('every removal is counted', async () => (await readFile(await threshold(), 'utf8')).trim() === '8');
    } finally {
      await limits.stop();
    }
  }, 60_000);
});
