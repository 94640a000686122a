import { EngineError, type MachineLimits, type MachineSpec } from '../engine.js';
import { machineBody, machineLimitsConfig, stateOf, type InstanceRecord } from './instance-config.js';
import type { LxdContext } from './lxd-context.js';
import type { LxdFiles } from './lxd-files.js';
import type { LxdInstances } from './lxd-instances.js';

/** Read by every SSH server since 8.2, before the settings of its own. */
const SSH_SETTINGS = '/etc/ssh/sshd_config.d/00-berth.conf';
const NO_PASSWORDS = [
  'PasswordAuthentication no',
  'KbdInteractiveAuthentication no',
  'PermitRootLogin prohibit-password',
  '',
].join('\n');
const SNAPSHOT_MS = 600_000;

/** Whole machines, and the snapshots of their disks. */
export class LxdMachines {
  constructor(
    private readonly context: LxdContext,
    private readonly instances: LxdInstances,
    private readonly files: LxdFiles,
  ) {}

  async createMachine(spec: MachineSpec): Promise<void> {
    const { name, authorizedKey } = spec;
    if (/[\r\n\0]/.test(authorizedKey)) throw new EngineError('invalid', 'The key is more than one line');
    await this.instances.create(name, machineBody(spec, this.context.pool, await this.context.dialect()));
    await this.files.write(name, '/root/.ssh', { type: 'directory', mode: 0o700 });
    await this.files.write(name, '/root/.ssh/authorized_keys', {
      type: 'file',
      mode: 0o600,
      content: `${authorizedKey}\n`,
    });
    await this.files.write(name, SSH_SETTINGS, { type: 'file', mode: 0o644, content: NO_PASSWORDS });
  }

  async setMachineLimits(name: string, limits: MachineLimits): Promise<void> {
    const size = `${limits.diskMb}MiB`;
    try {
      await this.instances.edit(name, ({ config, devices }) => ({
        config: { ...config, ...machineLimitsConfig(limits) },
        devices: { ...devices, root: { ...devices.root, size } },
      }));
    } catch (error) {
      if (error instanceof EngineError && /quota|size|shrink|space/i.test(error.message)) {
        throw new EngineError('conflict', error.message, { cause: error });
      }
      throw error;
    }
  }

  async createSnapshot(name: string, snapshot: string): Promise<void> {
    await this.context.operations.run('POST', `${path(name)}/snapshots`, {
      body: { name: snapshot, stateful: false },
      waitMs: SNAPSHOT_MS,
    });
  }

  async listSnapshots(name: string): Promise<string[]> {
    const paths = await this.context.transport.get<string[]>(`${path(name)}/snapshots`);
    return paths.map((one) => decodeURIComponent(one.split('?')[0]?.split('/').pop() ?? ''));
  }

  async restoreSnapshot(name: string, snapshot: string): Promise<void> {
    const { status } = await this.context.transport.get<InstanceRecord>(path(name));
    if (stateOf(status) !== 'stopped') throw new EngineError('conflict', `${name} runs`);
    if (!(await this.listSnapshots(name)).includes(snapshot))
      throw new EngineError('not_found', `Snapshot ${snapshot} of ${name} not found`);
    await this.context.operations.run('PUT', path(name), { body: { restore: snapshot }, waitMs: SNAPSHOT_MS });
  }

  async deleteSnapshot(name: string, snapshot: string): Promise<void> {
    try {
      await this.context.operations.run('DELETE', `${path(name)}/snapshots/${encodeURIComponent(snapshot)}`, {
        waitMs: SNAPSHOT_MS,
      });
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'not_found') throw error;
    }
  }
}

function path(name: string): string {
  return `/instances/${encodeURIComponent(name)}`;
}
