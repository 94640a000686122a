import { WORKSHOP_FOLDER, type WorkshopSpec } from '../engine.js';
import { checkInstanceName } from '../environment-rules.js';
import { hardening } from './instance-config.js';
import type { LxdContext } from './lxd-context.js';
import type { LxdDialect } from './lxd-dialect.js';
import type { LxdInstances } from './lxd-instances.js';

const ROOT_DISK_MB = 1024;
const PROCESSES = 128;

/** Containers in which the platform itself works on a volume. */
export class LxdWorkshops {
  constructor(
    private readonly context: LxdContext,
    private readonly instances: LxdInstances,
  ) {}

  async createWorkshop(spec: WorkshopSpec): Promise<void> {
    const dialect = await this.context.dialect();
    await this.instances.create(spec.name, workshopBody(spec, this.context.pool, dialect));
    await this.instances.startInstance(spec.name);
  }
}

function workshopBody(spec: WorkshopSpec, pool: string, dialect: LxdDialect) {
  const { name, owner, image, volume, memoryMb, node, folder } = spec;
  checkInstanceName(name);
  return {
    name,
    type: 'container',
    profiles: [],
    source: { type: 'image', alias: image },
    config: {
      'user.berth.owner': owner,
      'user.berth.image': image,
      ...(node && { 'user.berth.node': node }),
      'raw.lxc': ['lxc.init.cmd = /usr/bin/tini -g -- /usr/bin/sleep infinity', 'lxc.signal.halt = SIGTERM'].join('\n'),
      ...hardening(dialect),
      'limits.memory': `${memoryMb}MiB`,
      'limits.memory.swap': 'false',
      // A share and no ceiling: it gives way to the services, and is quick where nobody else wants the processors.
      'limits.cpu.allowance': '50%',
      'limits.processes': String(PROCESSES),
    },
    devices: {
      root: { type: 'disk', path: '/', pool, size: `${ROOT_DISK_MB}MiB` },
      data: { type: 'disk', path: '/home/container', pool, source: volume },
      ...(folder && { folder: { type: 'disk', path: WORKSHOP_FOLDER, source: folder, readonly: 'true' } }),
    },
  };
}
