export const MACHINE_STATUSES = [
  'INSTALLING',
  'INSTALL_FAILED',
  'STARTING',
  'RUNNING',
  'STOPPING',
  'STOPPED',
  'RESTORING',
  'DELETING',
] as const;
export type MachineStatus = (typeof MACHINE_STATUSES)[number];

export const MACHINE_POWER = ['start', 'stop', 'restart'] as const;
export type MachinePower = (typeof MACHINE_POWER)[number];

export type MachineAction = MachinePower | 'retry' | 'resize' | 'ports' | 'snapshot' | 'restore';

/** `run` does it, `nothing` accepts it without effect, `refuse` is a 409. */
export type Verdict = 'run' | 'nothing' | 'refuse';

type Row = Record<MachineAction, Verdict>;

const MOVING: Row = {
  start: 'refuse',
  stop: 'refuse',
  restart: 'refuse',
  retry: 'refuse',
  resize: 'refuse',
  ports: 'refuse',
  snapshot: 'refuse',
  restore: 'refuse',
};

const AT_REST: Row = {
  start: 'run',
  stop: 'nothing',
  restart: 'run',
  retry: 'refuse',
  resize: 'run',
  ports: 'run',
  snapshot: 'run',
  restore: 'run',
};

/** What may be asked of a machine in each of its states: the one table for the code, its tests and the documents. */
export const ALLOWED_ACTIONS: Record<MachineStatus, Row> = {
  INSTALLING: MOVING,
  INSTALL_FAILED: { ...MOVING, retry: 'run', resize: 'run', ports: 'run' },
  STARTING: { ...MOVING, start: 'nothing' },
  RUNNING: { ...AT_REST, start: 'nothing', stop: 'run' },
  STOPPING: { ...MOVING, stop: 'nothing' },
  STOPPED: AT_REST,
  RESTORING: MOVING,
  DELETING: MOVING,
};
