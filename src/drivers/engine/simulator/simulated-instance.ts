import {
  EngineError,
  type EngineEvent,
  type EngineInstance,
  type InstanceSpec,
  type InstanceUsage,
  type ProgramExit,
  type PublishedPort,
} from '../engine.js';
import { SimulatedConsole } from './simulated-console.js';
import type { SimulatorClock } from './simulator-clock.js';

/** How the program inside behaves; a starter that serves until it is stopped, when nothing else is said. */
export interface ProgramBehaviour {
  installMs?: number;
  installCode?: number;
  /** Ends by itself so long after it began. */
  endsAfterMs?: number;
  exitCode?: number;
  /** Number and name of the signal that ends it, instead of an exit code. */
  endSignal?: { number: number; name: string };
  outOfMemory?: boolean;
  /** A clean stop does not end it. */
  ignoresStop?: boolean;
  stopMs?: number;
  memoryBytes?: number;
  output?: string;
}

interface Ending {
  code: number;
  signal: string | null;
  outOfMemory: boolean;
}

const MEMORY_BYTES = 48 * 2 ** 20;
const ROOT_BYTES = 16 * 1024;
const CPU_SHARE = 0.02;
const INSTALL_MS = 300;
const STOP_MS = 20;

/** One simulated container: its settings, and the life of the program in it. */
export class SimulatedInstance {
  readonly createdAt: Date;
  startedAt: Date | null = null;
  running = false;
  interrupted = false;
  exit: ProgramExit | null = null;
  install: ProgramExit | null = null;
  readonly console = new SimulatedConsole();
  behaviour: ProgramBehaviour = {};
  private phase: 'install' | 'run' = 'run';
  private cancel: () => void = () => {};
  private ended: (() => void)[] = [];

  constructor(
    readonly spec: InstanceSpec,
    private readonly clock: SimulatorClock,
    private readonly emit: (event: EngineEvent) => void,
  ) {
    this.createdAt = new Date(clock.now());
  }

  begin(): void {
    this.running = true;
    this.interrupted = false;
    this.startedAt = new Date(this.clock.now());
    this.exit = null;
    this.console.clear();
    this.tell('started');
    if (this.spec.environment.BERTH_PHASE === 'install' && this.install?.code !== 0) this.beginInstall();
    else this.beginProgram();
  }

  /** A clean stop: resolves when it ended, or fails with `timeout`. */
  async stop(timeoutMs: number): Promise<void> {
    const ended = new Promise<'ended'>((resolve) => this.ended.push(() => resolve('ended')));
    let cancel = () => {};
    const late = new Promise<'late'>((resolve) => (cancel = this.clock.schedule(timeoutMs, () => resolve('late'))));
    if (!this.behaviour.ignoresStop) {
      this.cancel();
      const interrupted = { code: 143, signal: 'SIGTERM', outOfMemory: false };
      const clean = { code: 0, signal: null, outOfMemory: false };
      this.write('Stopping');
      const ending = this.phase === 'install' ? interrupted : clean;
      this.cancel = this.clock.schedule(this.behaviour.stopMs ?? STOP_MS, () => this.end(ending));
    }
    const outcome = await Promise.race([ended, late]);
    cancel();
    if (outcome === 'late') throw new EngineError('timeout', `${this.spec.name} has not ended in ${timeoutMs} ms`);
  }

  kill(): void {
    if (this.running) this.end(null);
  }

  /** Ends it as a machine does that loses its power: nobody is told. */
  cutOff(): void {
    if (!this.running) return;
    this.kill();
    this.interrupted = true;
  }

  /** Ends the program now, as if by itself. */
  crash(ending: Partial<Ending> = {}): void {
    if (this.running) this.end({ code: 1, signal: null, outOfMemory: false, ...ending });
  }

  /** Tells once when the program has ended; answers how to call it off. */
  onEnd(tell: () => void): () => void {
    this.ended.push(tell);
    return () => (this.ended = this.ended.filter((other) => other !== tell));
  }

  describe(): EngineInstance {
    const { name, owner, image, network, environment, limits, ports } = this.spec;
    return structuredClone({
      name,
      owner,
      node: null,
      state: this.running ? ('running' as const) : ('stopped' as const),
      interrupted: this.interrupted,
      address: network.address,
      image,
      createdAt: this.createdAt,
      startedAt: this.startedAt,
      environment,
      limits,
      ports,
    });
  }

  usage(): InstanceUsage {
    const rootBytes = ROOT_BYTES;
    const none = { memoryBytes: 0, cpuNanoseconds: 0, rxBytes: 0, txBytes: 0, startedAt: null, rootBytes };
    if (!this.running || !this.startedAt) return { state: 'stopped', ...none };
    const upMs = this.clock.now() - this.startedAt.getTime();
    return {
      state: 'running',
      memoryBytes: this.behaviour.memoryBytes ?? MEMORY_BYTES,
      cpuNanoseconds: 20_000_000 + Math.round(upMs * 1e6 * CPU_SHARE),
      rxBytes: upMs,
      txBytes: upMs,
      startedAt: this.startedAt,
      rootBytes,
    };
  }

  private beginInstall(): void {
    this.phase = 'install';
    this.install = null;
    const { GIT_REPOSITORY, INSTALL_COMMAND } = this.spec.environment;
    this.write(GIT_REPOSITORY ? '[install] Cloning the repository' : '[install] Writing a starter program');
    if (INSTALL_COMMAND) this.write('[install] Running the install command');
    const code = this.behaviour.installCode ?? simulatedExitCode(INSTALL_COMMAND);
    this.cancel = this.clock.schedule(this.behaviour.installMs ?? INSTALL_MS, () => {
      this.install = this.record({ code, signal: null, outOfMemory: false });
      if (code === 0) this.beginProgram();
      else this.end({ code, signal: null, outOfMemory: false });
    });
  }

  private beginProgram(): void {
    this.phase = 'run';
    this.write(this.behaviour.output ?? `Ready on port ${this.spec.environment.SERVER_PORT ?? 3000} (simulated)`);
    const { endsAfterMs, endSignal, exitCode, outOfMemory = false } = this.behaviour;
    this.cancel = () => {};
    if (endsAfterMs === undefined) return;
    const killed = endSignal ?? (outOfMemory ? { number: 9, name: 'SIGKILL' } : null);
    const ending = { code: killed ? 128 + killed.number : (exitCode ?? 0), signal: killed?.name ?? null, outOfMemory };
    this.cancel = this.clock.schedule(endsAfterMs, () => this.end(ending));
  }

  private end(ending: Ending | null): void {
    this.cancel();
    this.cancel = () => {};
    this.running = false;
    this.console.detach();
    this.exit = ending && this.record(ending);
    this.tell('stopped');
    for (const resolve of this.ended.splice(0)) resolve();
  }

  private record(ending: Ending): ProgramExit {
    return { ...ending, phase: this.phase, at: new Date(this.clock.now()) };
  }

  private write(line: string): void {
    this.console.print(`${line}\r\n`);
  }

  private tell(kind: EngineEvent['kind']): void {
    this.emit({ instance: this.spec.name, kind, at: new Date(this.clock.now()) });
  }
}

/** Nothing is run here, but a command that says how it ends is taken at its word. */
function simulatedExitCode(command: string | undefined): number {
  if (command?.trim() === 'false') return 1;
  const [, code] = /(?:^|[;&]\s*)exit (\d{1,3})\s*$/.exec(command ?? '') ?? [];
  return code === undefined ? 0 : Number(code) & 255;
}

/** Fails where another of them that runs has one of these ports. */
export function refuseTakenPorts(all: Iterable<SimulatedInstance>, name: string, ports: PublishedPort[]): void {
  const key = ({ protocol, listenAddress, listenPort }: PublishedPort) => `${protocol}:${listenAddress}:${listenPort}`;
  const others = [...all].filter(({ running, spec }) => running && spec.name !== name);
  const taken = new Set(others.flatMap(({ spec }) => spec.ports.map(key)));
  if (ports.some((port) => taken.has(key(port)))) throw new EngineError('conflict', 'address already in use');
}
