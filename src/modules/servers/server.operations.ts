/** Operation types of services, and what each of them carries. */
export const SERVER_OPERATIONS = {
  create: 'server.create',
  power: 'server.power',
  kill: 'server.kill',
  resize: 'server.resize',
  ports: 'server.ports',
  reinstall: 'server.reinstall',
  exec: 'server.exec',
  delete: 'server.delete',
} as const;

/** Lanes beside the service's own, for what must be able to pass a stuck operation. */
export const KILL_LANE = 'kill';
export const DELETE_LANE = 'delete';

export interface PowerPayload {
  signal: 'start' | 'stop' | 'restart';
  /** The platform's own start after a crash. */
  afterCrash?: boolean;
}

export interface ExecPayload {
  jobId: string;
}

export interface ReinstallPayload {
  /** Whether the service ran and is to run again. */
  wasRunning: boolean;
}

export interface PortsPayload {
  /** The port that comes or goes. */
  allocationId: string;
  change: 'add' | 'remove';
}

export interface ResizePayload {
  from: Limits;
  to: Limits;
}

export interface Limits {
  ram: number;
  disk: number;
  cpu: number;
}

/** Name of the service's container and of its volume in the engine: ours, never a word of the tenant's. */
export function engineName(serverId: string): string {
  return serverId.replace('_', '-');
}

/** Name of the container in which the node works on the service's files. */
export function filesWorkshopName(serverId: string): string {
  return serverId.replace(/^srv_/, 'fil-');
}

/** The service an engine name stands for, null when it is none of ours. */
export function serverIdOf(name: string): string | null {
  return /^srv-[0-9a-z]{26}$/.test(name) ? name.replace('-', '_') : null;
}

/**
 * What an engine name is for: `srv` the service itself, `fil` access to its files, `bak` a backup that is being made, `rst`
 * and `old` the volumes of a restore.
 */
export type EngineNameKind = 'srv' | 'fil' | 'bak' | 'rst' | 'old';

/** The kind of an engine name and the service it belongs to, null when it is none of ours. */
export function ownerOf(name: string): { kind: EngineNameKind; serverId: string } | null {
  const [, kind, ulid] = /^(srv|fil|bak|rst|old)-([0-9a-z]{26})(?:-[0-9a-z]{26})?$/.exec(name) ?? [];
  return kind && ulid ? { kind: kind as EngineNameKind, serverId: `srv_${ulid}` } : null;
}
