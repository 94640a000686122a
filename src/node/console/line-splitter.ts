import { StringDecoder } from 'node:string_decoder';

/** A line longer than this is shown in pieces. */
const MAX_LINE = 16_384;

/** Makes lines of a console's bytes. */
export class LineSplitter {
  private readonly decoder = new StringDecoder('utf8');
  private rest = '';

  /** The lines that these bytes complete. */
  push(bytes: Buffer): string[] {
    return this.pushText(this.decoder.write(bytes));
  }

  pushText(text: string): string[] {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop()!;
    const whole = lines.map((line) => line.replace(/(?<!\r)\r+$/, ''));
    if (this.rest.length <= MAX_LINE) return whole;
    const pieces = this.rest.match(new RegExp(`[^]{1,${MAX_LINE}}`, 'g'))!;
    this.rest = '';
    return [...whole, ...pieces];
  }

  /** What there is of a line that nothing will complete. */
  end(): string[] {
    const left = (this.rest + this.decoder.end()).replace(/(?<!\r)\r+$/, '');
    this.rest = '';
    return left === '' ? [] : [left];
  }
}
