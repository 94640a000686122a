import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const KEPT_LINES = 400;

/** A program that runs for a test, and ends with it whatever happens. */
export class Daemon {
  private readonly lines: string[] = [];

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream!.setEncoding('utf8').on('data', (text: string) => {
        this.lines.push(text);
        if (this.lines.length > KEPT_LINES) this.lines.shift();
      });
    }
  }

  static async start(command: string, args: string[], env: Record<string, string>): Promise<Daemon> {
    const child = spawn(command, args, {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await once(child, 'spawn');
    const orphan = (): void => void child.kill('SIGKILL');
    process.once('exit', orphan);
    child.once('exit', () => process.off('exit', orphan));
    return new Daemon(child);
  }

  log(): string {
    return this.lines.join('');
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }
}
