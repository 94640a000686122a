import { stripVTControlCharacters } from 'node:util';

/** A failure that is told to the person at the keyboard as it stands, without a stack. */
export class Failure extends Error {
  /**
   * @param {string} message what failed
   * @param {{ log?: string[], logFile?: string, advice?: string, cause?: unknown }} [details]
   */
  constructor(message, details = {}) {
    super(message, { cause: details.cause });
    this.log = details.log ?? [];
    this.logFile = details.logFile;
    this.advice = details.advice;
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const QUIET_MS = 10_000;

/** Shows steps: on a terminal one moving line a step, elsewhere a line now and then while a step lasts. */
export class Steps {
  /** @param {NodeJS.WriteStream} [out] */
  constructor(out = process.stdout) {
    this.out = out;
    // Who pipes the output into something that ends early still wants the work done.
    out.on('error', () => {});
    this.moving = Boolean(out.isTTY) && process.env.TERM !== 'dumb';
  }

  /** @param {string} line */
  say(line = '') {
    this.out.write(`${line}\n`);
  }

  /**
   * Runs one step and prints how long it took. `note` tells what it is busy with; a text that the work returns is
   * printed behind the title.
   * @template T
   * @param {string} title
   * @param {(note: (text: string) => void) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async step(title, work) {
    const started = Date.now();
    const seconds = () => `${((Date.now() - started) / 1000).toFixed(1)} s`;
    let note = '';
    let frame = 0;
    const clear = () => this.moving && this.out.write('\r\x1b[2K');
    const tick = () => {
      if (!this.moving) return this.say(`  … ${title}, ${seconds()}${note ? `: ${note}` : ''}`);
      const width = (this.out.columns || 80) - 1;
      const line = `  ${FRAMES[frame++ % FRAMES.length]} ${title} (${seconds()})${note ? ` ${note}` : ''}`;
      this.out.write(`\r\x1b[2K${line.slice(0, width)}`);
    };
    const timer = setInterval(tick, this.moving ? 120 : QUIET_MS);
    try {
      const result = await work((text) => {
        note = stripVTControlCharacters(text).trim();
      });
      clearInterval(timer);
      clear();
      this.say(`  ✓ ${title}${typeof result === 'string' && result ? `: ${result}` : ''} (${seconds()})`);
      return result;
    } catch (error) {
      clearInterval(timer);
      clear();
      this.say(`  ✗ ${title} (${seconds()})`);
      throw error;
    }
  }
}

/**
 * Prints a failure: what failed, the end of the right log, what to do.
 * @param {unknown} error
 */
export function printFailure(error) {
  const write = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);
  write('');
  if (!(error instanceof Failure)) {
    write(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return;
  }
  write(`Failed: ${error.message}`);
  if (error.log.length > 0) {
    write(error.logFile ? `Last lines of ${error.logFile}:` : 'Last lines it printed:');
    for (const line of error.log) write(`  | ${line}`);
  }
  if (error.advice) write(`What to do: ${error.advice}`);
}
