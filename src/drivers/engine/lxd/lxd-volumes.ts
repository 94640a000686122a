import { EngineError, type EngineVolume, type VolumeSpec } from '../engine.js';
import type { LxdContext } from './lxd-context.js';
import { mebibytes } from './lxd-sizes.js';

interface VolumeRecord {
  name: string;
  type: string;
  config: Record<string, string>;
  used_by: string[] | null;
  created_at?: string;
}

const CHANGE_MS = 60_000;
/** A pool that cannot share data between volumes copies it byte for byte. */
const COPY_MS = 3_600_000;

/** Custom volumes. The engine shifts a volume's owners by itself when another instance's mapping asks for it. */
export class LxdVolumes {
  constructor(private readonly context: LxdContext) {}

  async createVolume({ name, sizeMb, owner }: VolumeSpec): Promise<void> {
    await this.context.operations.run('POST', this.base, {
      body: { name, config: { size: `${sizeMb}MiB`, 'user.berth.owner': owner } },
      timeoutMs: CHANGE_MS,
    });
  }

  async getVolume(name: string): Promise<EngineVolume> {
    return volumeOf(await this.context.transport.get<VolumeRecord>(this.path(name)));
  }

  async volumeUsage(name: string): Promise<number> {
    const state = await this.context.transport.get<{ usage: { used: number } | null }>(`${this.path(name)}/state`);
    return state.usage?.used ?? 0;
  }

  async resizeVolume(name: string, sizeMb: number): Promise<void> {
    const body = { config: { size: `${sizeMb}MiB` } };
    await this.context.operations.run('PATCH', this.path(name), { body, timeoutMs: CHANGE_MS });
  }

  /**
   * The copy is of one moment wherever the pool can take snapshots. It inherits the source's settings: among them is whose
   * user ids the files carry, without which nobody could read them.
   */
  async copyVolume(source: string, { name, sizeMb, owner }: VolumeSpec): Promise<void> {
    const { pool, project, transport, operations } = this.context;
    const { config } = await transport.get<VolumeRecord>(this.path(source));
    await operations.run('POST', this.base, {
      body: {
        name,
        config: { ...config, size: `${sizeMb}MiB`, 'user.berth.owner': owner },
        source: { type: 'copy', pool, project, name: source, volume_only: true },
      },
      timeoutMs: CHANGE_MS,
      waitMs: COPY_MS,
    });
  }

  async renameVolume(name: string, newName: string): Promise<void> {
    const { usedBy } = await this.getVolume(name);
    if (usedBy.length > 0) throw new EngineError('conflict', `Volume ${name} is attached to ${usedBy.join(', ')}`);
    await this.context.operations.run('POST', this.path(name), { body: { name: newName }, timeoutMs: CHANGE_MS });
  }

  async deleteVolume(name: string): Promise<void> {
    try {
      await this.context.operations.run('DELETE', this.path(name), { timeoutMs: CHANGE_MS });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.code === 'not_found') return;
      if (/in use/i.test(error.message)) throw new EngineError('conflict', error.message);
      throw error;
    }
  }

  async listVolumes(): Promise<EngineVolume[]> {
    const volumes = await this.context.transport.get<VolumeRecord[]>(this.base, { query: { recursion: '1' } });
    return volumes.filter(({ name }) => !name.includes('/')).map(volumeOf);
  }

  private get base(): string {
    return `/storage-pools/${encodeURIComponent(this.context.pool)}/volumes/custom`;
  }

  private path(name: string): string {
    return `${this.base}/${encodeURIComponent(name)}`;
  }
}

function volumeOf({ name, config, used_by, created_at }: VolumeRecord): EngineVolume {
  return {
    name,
    sizeMb: mebibytes(config.size),
    owner: config['user.berth.owner'] ?? null,
    createdAt: created_at && !created_at.startsWith('0001') ? new Date(created_at) : null,
    usedBy: (used_by ?? []).map((path) => decodeURIComponent(path.split('?')[0]?.split('/').pop() ?? '')),
  };
}
