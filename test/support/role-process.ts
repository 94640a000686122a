import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type RoleName = 'api' | 'worker' | 'node' | 'broker';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const MAIN = join(REPOSITORY, 'dist', 'src', 'main.js');
/** It goes with the test stack. */
const COMPILE_CACHE = join(REPOSITORY, '.berth-test', 'data', 'compile-cache');
const START_MS = 60_000;
/** Longer than the platform gives itself: it tells then what it was waiting for. */
const STOP_MS = 60_000;
const KEPT_LINES = 3000;

/** The line by which each role tells that it is there. */
const READY: Record<RoleName, RegExp> = {
  api: /"api listens"/,
  worker: /"worker takes operations"/,
  node: /"node watches the engine"/,
  broker: /"broker listens"|"simulated containers cannot call a broker/,
};

/** One process of the platform, built and started as an operator's would be. */
export class RoleProcess {
  private child: ChildProcess | undefined;
  private readonly lines: string[] = [];

  constructor(
    readonly roles: readonly RoleName[],
    private readonly env: Record<string, string>,
    /** A program, with its arguments, that becomes the process in a place of its own. */
    private readonly launcher: readonly string[] = [],
  ) {}

  get pid(): number | undefined {
    return this.child?.pid;
  }

  get running(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What it wrote, the newest lines. */
  log(lines = KEPT_LINES): string {
    return this.lines.slice(-lines).join('\n');
  }

  /** Lines that tell of a fault, with what led there. */
  complaints(): string {
    const loud = this.lines.filter((line) => !/"level":("(info|debug|trace)"|[123]0)[,}]/.test(line));
    return loud.slice(-20).join('\n');
  }

  /** Starts it and waits until all of its roles are there. */
  async start(): Promise<void> {
    const [program, ...args] = [...this.launcher, process.execPath, MAIN];
    const child = spawn(program, args, {
      cwd: tmpdir(),
      // Hundreds are started, and most of what a start costs is reading the code.
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE, ...this.env, ROLES: this.roles.join(',') },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    const orphan = (): void => void child.kill('SIGKILL');
    process.once('exit', orphan);
    child.once('exit', () => process.off('exit', orphan));
    const missing = new Set(this.roles);
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => {
        clearTimeout(timer);
        reject(new Error(`${this.roles.join(',')} ${why}:\n${this.log(40)}`));
      };
      const timer = setTimeout(() => fail('did not start in time'), START_MS);
      const take = (line: string): void => {
        this.lines.push(line);
        if (this.lines.length > 2 * KEPT_LINES) this.lines.splice(0, KEPT_LINES);
        if (missing.size === 0) return;
        for (const role of missing) if (READY[role].test(line)) missing.delete(role);
        if (missing.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      createInterface({ input: child.stdout }).on('line', take);
      createInterface({ input: child.stderr }).on('line', take);
      child.once('error', (error) => fail(error.message));
      // Not `exit`: what it wrote last may still be on its way.
      child.once('close', (code, signal) => fail(`ended with ${code ?? signal} while starting`));
    });
  }

  /** Ends it as an operator would, and expects a clean end. */
  async stop(): Promise<void> {
    if (!this.running) return;
    const child = this.child!;
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    child.kill('SIGTERM');
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    clearTimeout(timer);
    if (code !== 0) throw new Error(`${this.roles.join(',')} ended with ${code ?? signal}:\n${this.log(15)}`);
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    if (!this.running) return;
    const child = this.child!;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }
}
