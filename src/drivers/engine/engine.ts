import type { Readable, Writable } from 'node:stream';

/**
 * The port to the container engine. Every method is a typed primitive: nothing a tenant wrote is passed through,
 * and the adapter alone decides the hardening of what it creates. Two adapters: `lxd` (LXD >= 5.0, Incus >= 6.0)
 * and `simulator`; one contract suite (`test/engine`) holds both to what the comments here promise.
 *
 * Idempotency: `ensure*` and `delete*` succeed when the wanted state already holds. `create*` fails with
 * `EngineError('exists')`. Operations on something missing fail with `EngineError('not_found')`.
 * An engine that cannot be reached fails with `EngineError('unavailable')`, after at most a few seconds, and
 * every call has a deadline of its own.
 */
export abstract class Engine {
  /** Kind, version and what this engine can do. */
  abstract info(): Promise<EngineInfo>;

  // Set-up, run by the platform itself before it serves.
  /** The project of everything the platform makes; what is in it already is never started by the engine itself. */
  abstract ensureProject(): Promise<void>;
  abstract ensurePool(): Promise<void>;
  /** A bridge of the platform's own with NAT and IPv6 off. */
  abstract ensureNetwork(network: NetworkSpec): Promise<void>;

  // Images
  abstract listImages(): Promise<EngineImage[]>;
  /** Imports a unified image tarball from a local file under `alias`; an older image of that alias is replaced. */
  abstract importImage(image: { alias: string; file: string; properties: Record<string, string> }): Promise<void>;
  /** Has the engine fetch an image of a simplestreams server and keep it under `alias`; an older one is replaced. */
  abstract fetchImage(image: RemoteImage): Promise<void>;

  // Volumes: custom file system volumes with a hard quota.
  abstract createVolume(volume: VolumeSpec): Promise<void>;
  abstract getVolume(name: string): Promise<EngineVolume>;
  /** Bytes in use, fresh. */
  abstract volumeUsage(name: string): Promise<number>;
  abstract resizeVolume(name: string, sizeMb: number): Promise<void>;
  abstract deleteVolume(name: string): Promise<void>;
  abstract listVolumes(): Promise<EngineVolume[]>;
  /**
   * A new volume with the data `source` has at this moment, also while a service writes to it. It takes no room of its own
   * where the pool can share data between volumes.
   */
  abstract copyVolume(source: string, target: VolumeSpec): Promise<void>;
  /** At once, and no data moves. `EngineError('conflict')` while an instance has it, `exists` when the name is taken. */
  abstract renameVolume(name: string, newName: string): Promise<void>;

  // Instances
  abstract createInstance(spec: InstanceSpec): Promise<void>;
  abstract getInstance(name: string): Promise<EngineInstance>;
  abstract listInstances(): Promise<EngineInstance[]>;
  /** Applies new limits, live where the instance runs. */
  abstract setLimits(name: string, limits: InstanceLimits): Promise<void>;
  /** Replaces the whole program environment; the program sees it from its next start. */
  abstract setEnvironment(name: string, environment: Record<string, string>): Promise<void>;
  /** Replaces the whole set of published ports. */
  abstract setPorts(name: string, ports: PublishedPort[]): Promise<void>;
  /**
   * Idempotent: starting what runs is no error. Resolves when the engine says it runs. Nothing else starts an instance: an
   * engine that comes back leaves what does not run as it is.
   */
  abstract startInstance(name: string): Promise<void>;
  /**
   * Asks for a clean stop (SIGTERM to the program) and resolves when it has stopped; `EngineError('timeout')`
   * when it has not after `timeoutMs`. Idempotent on what is stopped.
   */
  abstract stopInstance(name: string, timeoutMs: number): Promise<void>;
  /** Ends it at once, whatever it does, also while a clean stop is pending. Idempotent. */
  abstract killInstance(name: string): Promise<void>;
  /** Stops by force if need be, and removes it. Idempotent. Never removes volumes. */
  abstract deleteInstance(name: string): Promise<void>;
  /**
   * A container for the platform's own work on the data of one volume, which it holds at `/home/container`: hardened as a
   * service, without network, idle. It runs when this resolves; programs are run in it by `exec`.
   */
  abstract createWorkshop(spec: WorkshopSpec): Promise<void>;
  /**
   * A whole machine with an init of its own, hardened as a service is. The key lies in root's `authorized_keys`, and passwords
   * are refused by its SSH server, before it starts for the first time. It does not run yet when this resolves.
   */
  abstract createMachine(spec: MachineSpec): Promise<void>;
  /** Applies new limits to a machine, live where it runs. `EngineError('conflict')` when the disk holds more than fits. */
  abstract setMachineLimits(name: string, limits: MachineLimits): Promise<void>;
  /** Keeps a machine's disk as it is at this moment, also while it runs. `EngineError('exists')` when the name is taken. */
  abstract createSnapshot(name: string, snapshot: string): Promise<void>;
  /** Names of a machine's snapshots. */
  abstract listSnapshots(name: string): Promise<string[]>;
  /**
   * Puts a stopped machine's disk back; `EngineError('conflict')` while it runs. The limits and ports of that time come back
   * with it: give it those it is to have afterwards.
   */
  abstract restoreSnapshot(name: string, snapshot: string): Promise<void>;
  /** Idempotent. */
  abstract deleteSnapshot(name: string, snapshot: string): Promise<void>;
  abstract instanceUsage(name: string): Promise<InstanceUsage>;

  /**
   * How the program's last run ended, from the exit record the entry wrapper wrote; null while it runs, when it
   * has not run yet, or when it was ended before the wrapper could write (killed from outside).
   */
  abstract lastExit(name: string): Promise<ProgramExit | null>;
  /**
   * How the installation of this instance ended: written when the install step is over, before the program starts in the
   * same run; null until then. An instance created with phase `install` installs at each start until that succeeded.
   */
  abstract installExit(name: string): Promise<ProgramExit | null>;
  /**
   * The newest part of what the program wrote to its console, at most 1 MB. Of a machine it is what nobody has read before:
   * all that could keep it is the machine itself, which is its owner's to change.
   */
  abstract consoleLog(name: string): Promise<string>;

  /**
   * Runs a program beside the service's own, in its container. The container must run. Its environment is exactly what the
   * specification says; whatever it has started is ended together with it.
   */
  abstract exec(name: string, spec: ExecSpec): Promise<ExecSession>;
  /**
   * What the program prints to its console from now on, and its standard input; `EngineError('conflict')` when it does not
   * run. One attachment per instance at a time. What is not read holds the program up.
   */
  abstract attachConsole(name: string): Promise<ConsoleAttachment>;

  /**
   * Calls `listener` for each start and stop of an instance of ours until `signal` aborts. Reconnects by itself;
   * `onConnect` runs after each (re)connection, because events in between were missed; `onBreak` as soon as it is known
   * that events are being missed.
   */
  abstract watch(
    listener: (event: EngineEvent) => void,
    onConnect: () => void,
    signal: AbortSignal,
    onBreak?: () => void,
  ): void;

  /**
   * Ends what an engine that was killed started and does not know any more, where it runs on this machine: to be called after
   * each connection. Answers how many processes that were.
   */
  abstract endStrays(): Promise<number>;

  abstract close(): Promise<void>;
}

export interface EngineInfo {
  kind: 'lxd' | 'incus' | 'simulator';
  version: string;
  /** Name of the member that answered; one on a single box. */
  member: string;
}

export interface NetworkSpec {
  name: string;
  /** Gateway address with prefix length, e.g. `10.158.0.1/16`. */
  gateway: string;
  /** Whether instances ask for their address, which is still the one they were given. Not so when left out. */
  dhcp?: boolean;
}

export interface RemoteImage {
  alias: string;
  /** Address of a simplestreams server. */
  server: string;
  /** What the image is called there. */
  source: string;
  properties: Record<string, string>;
}

export interface EngineImage {
  alias: string;
  fingerprint: string;
  sizeBytes: number;
  properties: Record<string, string>;
}

export interface VolumeSpec {
  name: string;
  sizeMb: number;
  /** Row that owns it: `user.berth.owner`. */
  owner: string;
}

export interface EngineVolume {
  name: string;
  sizeMb: number;
  owner: string | null;
  createdAt: Date | null;
  usedBy: string[];
}

/** What an application service is made of. Hardening is the adapter's business and not an option here. */
export interface InstanceSpec {
  name: string;
  owner: string;
  image: string;
  /** Custom volume mounted at `/home/container`. */
  volume: string;
  limits: InstanceLimits;
  /** Size of the root file system. */
  rootDiskMb: number;
  network: { name: string; address: string; gateway: string };
  environment: Record<string, string>;
  ports: PublishedPort[];
}

export interface WorkshopSpec {
  name: string;
  owner: string;
  /** One of the runtime images: they hold the tools. */
  image: string;
  volume: string;
  memoryMb: number;
  /** Name of the node that makes it for itself: `user.berth.node`. */
  node?: string;
  /** A folder of the engine's machine that it sees at `WORKSHOP_FOLDER`, without writing there. */
  folder?: string;
}

/** What a machine is made of. Hardening is the adapter's business and not an option here. */
export interface MachineSpec {
  name: string;
  owner: string;
  image: string;
  limits: MachineLimits;
  network: { name: string; address: string };
  /** One line of `authorized_keys`, without options. */
  authorizedKey: string;
  ports: PublishedPort[];
}

export interface MachineLimits {
  memoryMb: number;
  /** Whole processors; a machine of the engine's with fewer gives all it has. */
  cpus: number;
  diskMb: number;
  processes: number;
}

/** Where a workshop sees the folder it was given. */
export const WORKSHOP_FOLDER = '/run/berth';

export interface InstanceLimits {
  memoryMb: number;
  /** Percent of one core: 100 is one core. */
  cpuPercent: number;
  processes: number;
}

export interface PublishedPort {
  /** Stable name of the rule, unique in the instance. */
  name: string;
  protocol: 'tcp' | 'udp';
  listenAddress: string;
  listenPort: number;
  targetPort: number;
  /**
   * Address of the instance that packets are passed on to as they are, so that it sees who they come from. Not where the
   * listening address is a loopback one. A user-space proxy passes on what they hold when left out.
   */
  passTo?: string;
}

export type InstanceState = 'running' | 'stopped' | 'other';

export interface EngineInstance {
  name: string;
  owner: string | null;
  /** The node that made this workshop for itself; null for everything else. */
  node: string | null;
  state: InstanceState;
  /**
   * It stands still though nothing ended it that the engine took note of: the engine or its machine went down with it. Also
   * true for a moment after any end. It is not started again unless it is asked for.
   */
  interrupted: boolean;
  address: string | null;
  image: string | null;
  createdAt: Date;
  /** Last start, null if never started. */
  startedAt: Date | null;
  environment: Record<string, string>;
  limits: InstanceLimits;
  ports: PublishedPort[];
}

export interface InstanceUsage {
  state: InstanceState;
  memoryBytes: number;
  /** Counter: nanoseconds of processor time since start. */
  cpuNanoseconds: number;
  rxBytes: number;
  txBytes: number;
  startedAt: Date | null;
  /** In use on the root file system, also while it is stopped. */
  rootBytes: number;
}

export interface ProgramExit {
  /** 0-255; 128+n when ended by signal n. */
  code: number;
  /** Name such as `SIGKILL`, when a signal ended it. */
  signal: string | null;
  outOfMemory: boolean;
  /** Phase that ended: the install step or the program itself. */
  phase: 'install' | 'run';
  at: Date;
}

export interface ExecSpec {
  command: string[];
  user: number;
  group: number;
  cwd: string;
  environment: Record<string, string>;
}

/** A program that was started. The streams carry bytes as they are, and end with it. */
export interface ExecSession {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** 0-255; 128+n when ended by signal n. Fails when nobody can tell, as when the container ended meanwhile. */
  exit: Promise<number>;
  /**
   * Ends it and all it started, at once; resolves when that is done, or after a while in which nobody could tell. `exit` is 137
   * then.
   */
  kill(): Promise<void>;
}

export interface ConsoleAttachment {
  output: Readable;
  write(text: string): void;
  /** Resolves when the program ended, the engine is gone, or after `close`. */
  closed: Promise<void>;
  close(): void;
}

export interface EngineEvent {
  instance: string;
  kind: 'started' | 'stopped';
  at: Date;
}

export type EngineErrorCode = 'unavailable' | 'not_found' | 'exists' | 'timeout' | 'conflict' | 'invalid' | 'failed';

/** A failure of the engine. `message` is for operators and logs, never for a response body. */
export class EngineError extends Error {
  constructor(
    readonly code: EngineErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'EngineError';
  }
}
