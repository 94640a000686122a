import { constants } from 'node:os';
import {
  EngineError,
  type EngineInstance,
  type InstanceLimits,
  type InstanceSpec,
  type InstanceState,
  type MachineLimits,
  type MachineSpec,
  type PublishedPort,
} from '../engine.js';
import { checkInstanceName } from '../environment-rules.js';
import type { LxdDialect } from './lxd-dialect.js';
import { environmentConfig, environmentOf, resolverConfig } from './lxd-environment.js';
import { mebibytes } from './lxd-sizes.js';

export type Config = Record<string, string>;
export type Devices = Record<string, Record<string, string>>;

export interface InstanceRecord {
  name: string;
  status: string;
  architecture: string;
  description: string;
  ephemeral: boolean;
  profiles: string[];
  stateful: boolean;
  config: Config;
  devices: Devices;
  created_at: string;
  last_used_at: string;
}

export const STATE_DIRECTORY = '/var/lib/berth';
const PORT_DEVICE = 'port-';

/**
 * The one place where a container's configuration is made. Nothing here comes from a tenant but the environment's values
 * and the image's alias, which the platform chose from its list.
 */
export function instanceBody(spec: InstanceSpec, pool: string, prefixLength: number, dialect: LxdDialect) {
  checkInstanceName(spec.name);
  const { network } = spec;
  return {
    name: spec.name,
    type: 'container',
    profiles: [],
    source: { type: 'image', alias: spec.image },
    config: {
      'user.berth.owner': spec.owner,
      'user.berth.image': spec.image,
      'raw.lxc': rawLxc(network.address, prefixLength, network.gateway),
      ...hardening(dialect),
      ...limitsConfig(spec.limits),
      ...resolverConfig(network.gateway),
      ...environmentConfig(spec.environment),
    },
    devices: {
      root: { type: 'disk', path: '/', pool, size: `${spec.rootDiskMb}MiB` },
      data: { type: 'disk', path: '/home/container', pool, source: spec.volume },
      eth0: guardedNic(network),
      ...portDevices(spec.ports),
    },
  };
}

/** The same for a whole machine: its init is its own, and so is all of its root file system. */
export function machineBody(spec: MachineSpec, pool: string, dialect: LxdDialect) {
  checkInstanceName(spec.name);
  return {
    name: spec.name,
    type: 'container',
    profiles: [],
    source: { type: 'image', alias: spec.image },
    config: {
      'user.berth.owner': spec.owner,
      'user.berth.image': spec.image,
      [MACHINE]: 'true',
      ...hardening(dialect),
      ...machineLimitsConfig(spec.limits),
    },
    devices: {
      root: { type: 'disk', path: '/', pool, size: `${spec.limits.diskMb}MiB` },
      eth0: guardedNic(spec.network),
      ...portDevices(spec.ports),
    },
  };
}

const MACHINE = 'user.berth.machine';

export function isMachine({ config }: Pick<InstanceRecord, 'config'>): boolean {
  return config[MACHINE] === 'true';
}

export function hardening(dialect: LxdDialect): Config {
  return {
    // An engine would start it when its machine comes up, before anybody has laid a packet filter around it.
    'boot.autostart': 'false',
    'security.privileged': 'false',
    'security.nesting': 'false',
    'security.idmap.isolated': 'true',
    [dialect.guestApiKey]: 'false',
    'security.syscalls.deny': NO_SUBVOLUMES,
  };
}

/**
 * On btrfs anybody may make a subvolume in a folder of theirs, and the limit of the volume around it does not count what
 * lies in it; no backup takes it along either. Refused as on a file system that has none, which programs expect: the four
 * requests of linux/btrfs.h that make one. Of the number the kernel looks at the lower half alone.
 */
const NO_SUBVOLUMES = [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418]
  .map((request) => `ioctl errno ${constants.errno.ENOTTY} [1,${request},SCMP_CMP_MASKED_EQ,0xffffffff]`)
  .join('\n');

/** What comes from it under another address than its own goes nowhere, and neither does what is for a neighbour. */
function guardedNic(network: { name: string; address: string }): Record<string, string> {
  return {
    type: 'nic',
    name: 'eth0',
    network: network.name,
    hwaddr: hardwareAddress(network.address),
    'ipv4.address': network.address,
    'security.mac_filtering': 'true',
    'security.ipv4_filtering': 'true',
    'security.ipv6_filtering': 'true',
    'security.port_isolation': 'true',
  };
}

/**
 * Follows from the address: when another instance takes an address over, as after a restore, nobody's ARP table is wrong
 * and no packet is lost until it is put right.
 */
function hardwareAddress(address: string): string {
  const octets = address
    .split('.')
    .slice(1)
    .map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return `00:16:3e:${octets.join(':')}`;
}

function rawLxc(address: string, prefixLength: number, gateway: string): string {
  for (const part of [address, gateway]) {
    if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(part))
      throw new EngineError('invalid', `${JSON.stringify(part)}: no IPv4 address`);
  }
  return [
    'lxc.init.cmd = /usr/bin/tini -g -- /usr/local/lib/berth/entry',
    'lxc.signal.halt = SIGTERM',
    // More than this does not come through the monitor's socket in one piece, and is lost.
    'lxc.console.buffer.size = 128KB',
    'lxc.console.size = 1MB',
    `lxc.net.0.ipv4.address = ${address}/${prefixLength}`,
    `lxc.net.0.ipv4.gateway = ${gateway}`,
    // All that a tenant may write besides its volume; it counts as the service's memory.
    'lxc.mount.entry = tmpfs tmp tmpfs rw,nosuid,nodev,size=64m,nr_inodes=16k,mode=1777,create=dir 0 0',
    'lxc.mount.entry = tmpfs dev/shm tmpfs rw,nosuid,nodev,noexec,size=64m,nr_inodes=16k,mode=1777,create=dir 0 0',
    // Runtimes size themselves by it, and the entry tells memory kills from it.
    'lxc.mount.auto = cgroup:ro:force',
  ].join('\n');
}

export function limitsConfig({ memoryMb, cpuPercent, processes }: InstanceLimits): Config {
  return {
    'limits.memory': `${memoryMb}MiB`,
    'limits.memory.swap': 'false',
    'limits.cpu.allowance': `${cpuPercent}ms/100ms`,
    'limits.processes': String(processes),
  };
}

export function machineLimitsConfig({ memoryMb, cpus, processes }: MachineLimits): Config {
  return {
    'limits.memory': `${memoryMb}MiB`,
    'limits.memory.swap': 'false',
    'limits.cpu': String(cpus),
    'limits.processes': String(processes),
  };
}

/**
 * User-space proxies where nothing else is asked for: unlike NAT rules they serve loopback too, and two on one port fail
 * instead of stealing.
 */
export function portDevices(ports: PublishedPort[]): Devices {
  return Object.fromEntries(
    ports.map(({ name, protocol, listenAddress, listenPort, targetPort, passTo }) => {
      const host = listenAddress.includes(':') ? `[${listenAddress}]` : listenAddress;
      return [
        `${PORT_DEVICE}${name}`,
        {
          type: 'proxy',
          listen: `${protocol}:${host}:${listenPort}`,
          connect: `${protocol}:${passTo ?? '127.0.0.1'}:${targetPort}`,
          ...(passTo === undefined ? { bind: 'host' } : { nat: 'true' }),
        },
      ];
    }),
  );
}

export function isPortDevice(name: string): boolean {
  return name.startsWith(PORT_DEVICE);
}

function portsOf(devices: Devices): PublishedPort[] {
  return Object.entries(devices).flatMap(([name, { listen = '', connect = '', nat }]) => {
    const [, protocol, host, port] = /^(tcp|udp):(.+):(\d+)$/.exec(listen) ?? [];
    if (!isPortDevice(name) || !protocol || !host || !port) return [];
    return {
      name: name.slice(PORT_DEVICE.length),
      protocol: protocol as 'tcp' | 'udp',
      listenAddress: host.replace(/^\[|\]$/g, ''),
      listenPort: Number(port),
      targetPort: Number(connect.split(':').pop()),
      ...(nat === 'true' ? { passTo: connect.split(':')[1]! } : {}),
    };
  });
}

export function stateOf(status: string): InstanceState {
  if (status === 'Running') return 'running';
  return status === 'Stopped' ? 'stopped' : 'other';
}

/** The engine writes "never" as the epoch or the year one. */
export function dateOf(text: string | undefined): Date | null {
  const date = text ? new Date(text) : null;
  return date && date.getTime() > 0 ? date : null;
}

export function instanceOf(record: InstanceRecord): EngineInstance {
  const { config, devices } = record;
  return {
    name: record.name,
    owner: config['user.berth.owner'] ?? null,
    node: config['user.berth.node'] ?? null,
    state: stateOf(record.status),
    interrupted: stateOf(record.status) === 'stopped' && config['volatile.last_state.power'] === 'RUNNING',
    address: devices.eth0?.['ipv4.address'] ?? null,
    image: config['user.berth.image'] ?? null,
    createdAt: dateOf(record.created_at) ?? new Date(0),
    startedAt: dateOf(record.last_used_at),
    environment: environmentOf(config),
    limits: {
      memoryMb: mebibytes(config['limits.memory']),
      cpuPercent: config['limits.cpu']
        ? Number(config['limits.cpu']) * 100
        : Number.parseInt(config['limits.cpu.allowance'] ?? '0', 10),
      processes: Number(config['limits.processes'] ?? 0),
    },
    ports: portsOf(devices),
  };
}
