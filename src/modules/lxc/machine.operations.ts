import type { MachinePower } from './machine-status.js';

/** Operation types of machines, and what each of them carries. */
export const MACHINE_OPERATIONS = {
  create: 'lxc.create',
  power: 'lxc.power',
  resize: 'lxc.resize',
  ports: 'lxc.ports',
  snapshot: 'lxc.snapshot',
  restore: 'lxc.restore',
  snapshotDelete: 'lxc.snapshot-delete',
  delete: 'lxc.delete',
} as const;

/** Lane beside the machine's own: a deletion must be able to pass a stuck operation. */
export const DELETE_LANE = 'delete';

export interface PowerPayload {
  action: MachinePower;
}

export interface PortsPayload {
  /** The redirection that comes or goes. */
  portId: string;
  change: 'add' | 'remove';
}

export interface MachineSize {
  cpu: number;
  ramMb: number;
  diskGb: number;
}

export interface ResizePayload {
  from: MachineSize;
  to: MachineSize;
}

export interface SnapshotPayload {
  snapshotId: string;
}

export interface RestorePayload extends SnapshotPayload {
  /** Whether the machine ran and is to run again. */
  wasRunning: boolean;
}

/** Name of the machine's container, and of a snapshot, in the engine: ours, never a word of the tenant's. */
export function engineName(id: string): string {
  return id.replace('_', '-');
}

/** The machine an engine name stands for, null when it is none. */
export function machineIdOf(name: string): string | null {
  return /^lxc-[0-9a-z]{26}$/.test(name) ? name.replace('-', '_') : null;
}
