export const SERVER_STATUSES = [
  'INSTALLING',
  'INSTALL_FAILED',
  'STARTING',
  'RUNNING',
  'STOPPING',
  'STOPPED',
  'CRASHED',
  'REINSTALLING',
  'RESTORING',
  'DELETING',
] as const;
export type ServerStatus = (typeof SERVER_STATUSES)[number];

export const POWER_SIGNALS = ['start', 'stop', 'restart', 'kill'] as const;
export type PowerSignal = (typeof POWER_SIGNALS)[number];

export type ServerAction = PowerSignal | 'reinstall' | 'retry' | 'resize' | 'image' | 'ports' | 'restore';

/** `run` does it, `nothing` accepts it without effect, `refuse` is a 409. */
export type Verdict = 'run' | 'nothing' | 'refuse';

type Row = Record<ServerAction, Verdict>;

const MOVING: Row = {
  start: 'refuse',
  stop: 'refuse',
  restart: 'refuse',
  kill: 'nothing',
  reinstall: 'refuse',
  retry: 'refuse',
  resize: 'refuse',
  image: 'refuse',
  ports: 'refuse',
  restore: 'refuse',
};

const AT_REST: Row = {
  start: 'run',
  stop: 'nothing',
  restart: 'run',
  kill: 'nothing',
  reinstall: 'run',
  retry: 'refuse',
  resize: 'run',
  image: 'run',
  ports: 'run',
  restore: 'run',
};

const ALIVE: Row = { ...AT_REST, start: 'nothing', stop: 'run', kill: 'run' };

/** What may be asked of a service in each of its states: the one table for the code, its tests and the documents. */
export const ALLOWED_ACTIONS: Record<ServerStatus, Row> = {
  INSTALLING: { ...MOVING, kill: 'run' },
  INSTALL_FAILED: { ...MOVING, retry: 'run', resize: 'run', image: 'run', ports: 'run' },
  STARTING: { ...ALIVE, restart: 'run', reinstall: 'refuse', restore: 'refuse' },
  RUNNING: ALIVE,
  STOPPING: { ...MOVING, stop: 'run', kill: 'run', image: 'run' },
  STOPPED: AT_REST,
  CRASHED: AT_REST,
  REINSTALLING: { ...MOVING, kill: 'run' },
  RESTORING: { ...MOVING, kill: 'run' },
  DELETING: MOVING,
};

/** States in which a service has data of its own that nobody is putting in place or taking away. */
export const MAY_BACK_UP: readonly ServerStatus[] = ['STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'CRASHED'];
