import { EngineError, type EngineInfo, type NetworkSpec } from '../engine.js';
import type { InstanceRecord } from './instance-config.js';
import type { LxdContext } from './lxd-context.js';

/** Storage drivers that hold a volume to its size, best first. `dir` does not, so it is never among them. */
const DRIVERS_WITH_QUOTAS = ['btrfs', 'zfs', 'lvm', 'ceph', 'cephfs'];
const MAKE_SECONDS = 120;

/** The engine's own set-up: project, pool and bridge. Bridges belong to no project of ours: engines keep them global. */
export class LxdSetup {
  constructor(
    private readonly context: LxdContext,
    private readonly poolSizeGb: number | null,
  ) {}

  async info(): Promise<EngineInfo> {
    const server = await this.context.server();
    const { kind } = await this.context.dialect();
    return { kind, version: server.environment.server_version, member: server.environment.server_name };
  }

  async ensureProject(): Promise<void> {
    const { transport, project } = this.context;
    if (project !== 'default') {
      await unlessExists(
        transport.call('POST', '/projects', {
          global: true,
          body: {
            name: project,
            description: 'Berth',
            config: {
              'features.images': 'true',
              'features.profiles': 'true',
              'features.storage.volumes': 'true',
              'features.networks': 'false',
            },
          },
        }),
      );
    }
    await this.startNone();
  }

  /** What an earlier release made the engine would start by itself when its machine comes up. */
  private async startNone(): Promise<void> {
    const { transport, operations } = this.context;
    const records = await transport.get<InstanceRecord[]>('/instances', { query: { recursion: '1' } });
    for (const { name, config } of records) {
      if (config['user.berth.owner'] === undefined || config['boot.autostart'] === 'false') continue;
      const body = { config: { 'boot.autostart': 'false' } };
      await operations.run('PATCH', `/instances/${encodeURIComponent(name)}`, { body });
    }
  }

  async ensurePool(): Promise<void> {
    const { transport, pool } = this.context;
    const path = `/storage-pools/${encodeURIComponent(pool)}`;
    const found = await ifFound(transport.get<{ driver: string }>(path, { global: true }));
    if (found) {
      if (!DRIVERS_WITH_QUOTAS.includes(found.driver)) {
        throw new EngineError(
          'invalid',
          `Pool ${pool} is of driver ${found.driver}, which does not enforce disk limits`,
        );
      }
      return;
    }
    const { environment } = await this.context.server();
    const supported = (environment.storage_supported_drivers ?? []).map((driver) => driver.Name);
    const driver = ['btrfs', 'zfs', 'lvm'].find((name) => supported.includes(name));
    if (!driver) {
      throw new EngineError(
        'invalid',
        'The engine has no storage driver that enforces disk limits: install btrfs-progs',
      );
    }
    const config = this.poolSizeGb === null ? {} : { size: `${this.poolSizeGb}GiB` };
    await unlessExists(
      transport.call('POST', '/storage-pools', {
        global: true,
        body: { name: pool, driver, config },
        timeoutMs: MAKE_SECONDS * 1000,
      }),
    );
    await this.beginLimits();
  }

  /**
   * A pool begins to count at the first volume that has a size. That had better be now, while it is empty, than amid
   * containers that are being made.
   */
  private async beginLimits(): Promise<void> {
    const { operations, pool } = this.context;
    const path = `/storage-pools/${encodeURIComponent(pool)}/volumes/custom`;
    const [name, timeoutMs] = ['berth-limits', MAKE_SECONDS * 1000];
    await unlessExists(operations.run('POST', path, { body: { name, config: { size: '16MiB' } }, timeoutMs }));
    await ifFound(operations.run('DELETE', `${path}/${name}`, { timeoutMs }));
  }

  async ensureNetwork({ name, gateway, dhcp = false }: NetworkSpec): Promise<void> {
    const { transport } = this.context;
    const path = `/networks/${encodeURIComponent(name)}`;
    // Addresses are fixed: set from outside, or handed to who asks. Names are the gateway's business.
    const config: Record<string, string> = {
      'ipv4.address': gateway,
      'ipv4.nat': 'true',
      'ipv4.dhcp': String(dhcp),
      'ipv6.address': 'none',
      'dns.mode': 'none',
    };
    const found = await ifFound(transport.get<{ config: Record<string, string>; managed: boolean }>(path));
    if (!found) {
      const body = { name, type: 'bridge', description: 'Berth', config };
      await unlessExists(transport.call('POST', '/networks', { body, timeoutMs: MAKE_SECONDS * 1000 }));
      return;
    }
    if (!found.managed) throw new EngineError('conflict', `Network ${name} exists and is not the engine's own`);
    if (Object.entries(config).every(([key, value]) => found.config[key] === value)) return;
    await transport.call('PATCH', path, { body: { config }, timeoutMs: MAKE_SECONDS * 1000 });
  }
}

async function ifFound<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof EngineError && error.code === 'not_found') return null;
    throw error;
  }
}

/** Another process may have been quicker. */
async function unlessExists(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'exists') throw error;
  }
}
