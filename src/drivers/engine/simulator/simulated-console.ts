import { PassThrough } from 'node:stream';
import { EngineError, type ConsoleAttachment } from '../engine.js';

const CHARACTERS = 1024 * 1024;

/** The console of a simulated program: it says that it heard every line it is told. */
export class SimulatedConsole {
  log = '';
  private attached: { output: PassThrough; end: () => void } | null = null;
  private begun = '';

  print(text: string): void {
    this.log = `${this.log}${text}`.slice(-CHARACTERS);
    this.attached?.output.write(text);
  }

  clear(): void {
    this.log = '';
  }

  attach(): ConsoleAttachment {
    if (this.attached) throw new EngineError('conflict', 'somebody is attached to this console already');
    const output = new PassThrough();
    let close = () => {};
    const closed = new Promise<void>((resolve) => (close = resolve));
    const end = () => {
      this.attached = null;
      output.end();
      close();
    };
    this.attached = { output, end };
    return {
      output,
      closed,
      write: (text) => this.hear(text),
      close: () => {
        if (this.attached?.output === output) end();
      },
    };
  }

  detach(): void {
    this.begun = '';
    this.attached?.end();
  }

  private hear(text: string): void {
    const lines = `${this.begun}${text}`.split('\n');
    this.begun = lines.pop() ?? '';
    for (const line of lines) this.print(`heard ${line}\r\n`);
  }
}
