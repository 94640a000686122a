import { PassThrough } from 'node:stream';
import type { ExecSession } from '../engine.js';
import type { SimulatedInstance } from './simulated-instance.js';
import type { SimulatorClock } from './simulator-clock.js';

/**
 * Nothing is run here, but a shell command made of `echo`, `cat`, `sleep`, `exit`, `true` and `false` does what it says;
 * every other one prints nothing and succeeds.
 */
export function simulateExec(instance: SimulatedInstance, command: string[], clock: SimulatorClock): ExecSession {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let settle: (code: number) => void = () => {};
  const exit = new Promise<number>((resolve) => (settle = resolve));
  let ended = false;
  let cancel = () => {};
  const end = (code: number) => {
    if (ended) return;
    ended = true;
    cancel();
    forget();
    stdout.end();
    stderr.end();
    settle(code);
  };
  const forget = instance.onEnd(() => end(137));
  const steps = command.at(-1)?.split(/;|&&/) ?? [];
  const next = (code: number): void => {
    const step = steps.shift()?.trim();
    if (ended) return;
    if (step === undefined) return end(code);
    const [word = '', ...rest] = step.replace(/(?<!\s)\s*>&2$/, '').split(/\s+/);
    const to = step.endsWith('>&2') ? stderr : stdout;
    switch (word) {
      case 'echo':
        to.write(`${rest.join(' ')}\n`);
        return next(0);
      case 'cat':
        stdin.pipe(to, { end: false });
        stdin.once('end', () => next(0));
        return;
      case 'sleep':
        cancel = clock.schedule(Number(rest[0]) * 1000, () => next(0));
        return;
      case 'exit':
        return end(Number(rest[0] ?? code) & 255);
      default:
        return next(word === 'false' ? 1 : 0);
    }
  };
  setImmediate(() => next(0));
  return {
    stdin,
    stdout,
    stderr,
    exit,
    kill: async () => end(137),
  };
}
