import { DomainError } from '../../../platform/errors/domain-error.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** What the letter of an escape stands for. */
const PLAIN: Record<number, number> = {
  0x22: 0x22,
  0x5c: 0x5c,
  0x2f: 0x2f,
  0x62: 0x08,
  0x66: 0x0c,
  0x6e: 0x0a,
  0x72: 0x0d,
  0x74: 0x09,
};
/** UTF-8 of one character. */
const WIDEST = 4;

/** Decodes one JSON string, from behind its opening quote, as its bytes come. */
export class TextDecoder {
  private decoded = new Uint8Array(1024);
  private length = 0;
  private state: 'plain' | 'escape' | 'hex' = 'plain';
  private digits = '';
  /** The first half of a surrogate pair that waits for its second. */
  private high = 0;

  /** How many bytes of UTF-8 the text has so far. */
  get size(): number {
    return this.length;
  }

  /** The text from a byte on, valid until more is written. */
  from(start: number): Buffer {
    return Buffer.from(this.decoded.buffer, start, this.length - start);
  }

  /** Answers the index behind the closing quote, or -1 when that is yet to come. */
  write(bytes: Uint8Array, from: number): number {
    this.makeRoom(bytes.length - from + WIDEST);
    for (let i = from; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (this.state !== 'plain') this.escaped(byte);
      else if (byte === BACKSLASH) this.state = 'escape';
      else {
        if (this.high !== 0) throw lonelySurrogate();
        if (byte === QUOTE) return i + 1;
        if (byte < 0x20) throw malformed();
        this.decoded[this.length++] = byte;
      }
    }
    return -1;
  }

  private escaped(byte: number): void {
    if (this.state === 'hex') {
      this.digits += String.fromCharCode(byte);
      if (this.digits.length === 4) this.codeUnit();
      return;
    }
    if (byte === 0x75) {
      this.state = 'hex';
      this.digits = '';
      return;
    }
    const plain = PLAIN[byte];
    if (plain === undefined) throw malformed();
    if (this.high !== 0) throw lonelySurrogate();
    this.decoded[this.length++] = plain;
    this.state = 'plain';
  }

  private codeUnit(): void {
    if (!/^[0-9a-f]{4}$/i.test(this.digits)) throw malformed();
    const unit = parseInt(this.digits, 16);
    this.state = 'plain';
    if (unit >= 0xdc00 && unit <= 0xdfff) {
      if (this.high === 0) throw lonelySurrogate();
      this.character(String.fromCharCode(this.high, unit));
      this.high = 0;
      return;
    }
    if (this.high !== 0) throw lonelySurrogate();
    if (unit >= 0xd800 && unit <= 0xdbff) this.high = unit;
    else this.character(String.fromCharCode(unit));
  }

  private character(text: string): void {
    for (const byte of Buffer.from(text)) this.decoded[this.length++] = byte;
  }

  private makeRoom(bytes: number): void {
    if (this.length + bytes <= this.decoded.length) return;
    const larger = new Uint8Array(Math.max(2 * this.decoded.length, this.length + bytes));
    larger.set(this.decoded.subarray(0, this.length));
    this.decoded = larger;
  }
}

export function malformed(detail = 'The request body is not JSON.'): DomainError {
  return new DomainError('bad_request', 'malformed_json', detail);
}

function lonelySurrogate(): DomainError {
  const detail = 'data must be well-formed Unicode';
  return new DomainError('bad_request', 'validation_failed', detail, {
    errors: [{ field: 'data', pointer: '/data', code: 'malformed_text', detail }],
  });
}
