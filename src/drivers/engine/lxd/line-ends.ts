import { Transform, type TransformCallback } from 'node:stream';

/**
 * On its way through several terminals a line's end gathers carriage returns; all but one are taken off again. Zero bytes are
 * the platform's own.
 */
export class LineEnds extends Transform {
  private held = '';

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const text = this.held + chunk.toString('latin1');
    this.held = /(?<!\r)\r*$/.exec(text)![0];
    const whole = text
      .slice(0, text.length - this.held.length)
      .replace(/(?<!\r)\r+\n/g, '\r\n')
      .replaceAll('\0', '');
    done(null, Buffer.from(whole, 'latin1'));
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(this.held, 'latin1'));
  }
}
