/** Where in a document it stops being JSON, in bytes of UTF-8 from 0. */
export class NotJson extends Error {
  constructor(readonly offset: number) {
    super(`not JSON from byte ${offset} on`);
  }
}

/** What may come next. */
const enum At {
  Value,
  /** After `[`: a value or the end. */
  FirstItem,
  /** After `{`: a key or the end. */
  FirstKey,
  /** After a comma in an object. */
  Key,
  Colon,
  /** After a value. */
  After,
  Text,
  Escape,
  Hex,
  Word,
  Minus,
  Zero,
  Integer,
  Point,
  Fraction,
  Exponent,
  ExponentSign,
  ExponentDigits,
}

/** Numbers that may end where they are. */
const ENDED_NUMBERS: ReadonlySet<At> = new Set([At.Zero, At.Integer, At.Fraction, At.ExponentDigits]);
const WORDS: Record<string, string> = { t: 'rue', f: 'alse', n: 'ull' };
const ESCAPES = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)));

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/**
 * Tells whether bytes are one JSON value (RFC 8259) while they arrive, at the first that is wrong. It keeps what encloses the
 * place where it is, one byte a level, so it goes as deep as a document does. Whether text is UTF-8 is left to others.
 */
export class DocumentChecker {
  private at = At.Value;
  private offset = 0;
  private readonly open = new Levels();
  /** Whether the text under way is a key. */
  private isKey = false;
  private rest = '';
  private digits = 0;

  /** Throws {@link NotJson}. */
  write(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) {
      if (this.at === At.Text) i = this.text(bytes, i);
      else if (!this.step(bytes[i]!)) throw new NotJson(this.offset + i);
    }
    this.offset += bytes.length;
  }

  /** To be called after the last byte. */
  end(): void {
    const whole = this.at === At.After || ENDED_NUMBERS.has(this.at);
    if (!whole || this.open.depth > 0) throw new NotJson(this.offset);
  }

  /** Goes through text as far as nothing happens in it; answers the index of the last byte it took. */
  private text(bytes: Uint8Array, from: number): number {
    for (let i = from; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (byte === QUOTE) {
        this.at = this.isKey ? At.Colon : At.After;
        return i;
      }
      if (byte === BACKSLASH) {
        this.at = At.Escape;
        return i;
      }
      if (byte < 0x20) throw new NotJson(this.offset + i);
    }
    return bytes.length;
  }

  /** Takes one byte outside of plain text; false when it must not stand here. */
  private step(byte: number): boolean {
    switch (this.at) {
      case At.Escape:
        if (byte === 0x75) return this.toHex();
        return ESCAPES.has(byte) && this.to(At.Text);
      case At.Hex:
        return isHex(byte) && (++this.digits < 4 || this.to(At.Text));
      case At.Word:
        if (byte !== this.rest.charCodeAt(0)) return false;
        this.rest = this.rest.slice(1);
        return this.rest !== '' || this.to(At.After);
      case At.Minus:
      case At.Zero:
      case At.Integer:
      case At.Point:
      case At.Fraction:
      case At.Exponent:
      case At.ExponentSign:
      case At.ExponentDigits:
        return this.number(byte);
      default:
        return isSpace(byte) || this.structure(byte);
    }
  }

  private structure(byte: number): boolean {
    switch (this.at) {
      case At.FirstItem:
        return byte === BRACKET + 2 ? this.close(BRACKET) : this.value(byte);
      case At.FirstKey:
        return byte === BRACE + 2 ? this.close(BRACE) : this.key(byte);
      case At.Key:
        return this.key(byte);
      case At.Colon:
        return byte === 0x3a && this.to(At.Value);
      case At.After:
        return this.after(byte);
      default:
        return this.value(byte);
    }
  }

  private value(byte: number): boolean {
    if (byte === QUOTE) {
      this.isKey = false;
      return this.to(At.Text);
    }
    if (byte === BRACE || byte === BRACKET) {
      this.open.push(byte);
      return this.to(byte === BRACE ? At.FirstKey : At.FirstItem);
    }
    if (byte === 0x2d) return this.to(At.Minus);
    if (isDigit(byte)) return this.to(byte === 0x30 ? At.Zero : At.Integer);
    const rest = WORDS[String.fromCharCode(byte)];
    if (rest === undefined) return false;
    this.rest = rest;
    return this.to(At.Word);
  }

  private key(byte: number): boolean {
    if (byte !== QUOTE) return false;
    this.isKey = true;
    return this.to(At.Text);
  }

  private after(byte: number): boolean {
    if (byte === 0x2c) {
      if (this.open.depth === 0) return false;
      return this.to(this.open.top === BRACE ? At.Key : At.Value);
    }
    return (byte === BRACKET + 2 || byte === BRACE + 2) && this.close(byte - 2);
  }

  private close(opened: number): boolean {
    if (this.open.top !== opened) return false;
    this.open.pop();
    return this.to(At.After);
  }

  private number(byte: number): boolean {
    const digit = isDigit(byte);
    switch (this.at) {
      case At.Minus:
        return digit && this.to(byte === 0x30 ? At.Zero : At.Integer);
      case At.Point:
        return digit && this.to(At.Fraction);
      case At.Exponent:
        return digit ? this.to(At.ExponentDigits) : (byte === 0x2b || byte === 0x2d) && this.to(At.ExponentSign);
      case At.ExponentSign:
        return digit && this.to(At.ExponentDigits);
      default:
        return this.goOnWithNumber(byte, digit);
    }
  }

  private goOnWithNumber(byte: number, digit: boolean): boolean {
    if (digit && this.at !== At.Zero) return true;
    const whole = this.at === At.Zero || this.at === At.Integer;
    if (byte === 0x2e && whole) return this.to(At.Point);
    if ((byte === 0x65 || byte === 0x45) && this.at !== At.ExponentDigits) return this.to(At.Exponent);
    this.at = At.After;
    return isSpace(byte) || this.after(byte);
  }

  private toHex(): boolean {
    this.digits = 0;
    return this.to(At.Hex);
  }

  private to(next: At): true {
    this.at = next;
    return true;
  }
}

/** Which brackets are open, the innermost on top. */
class Levels {
  depth = 0;
  private bytes = new Uint8Array(64);

  get top(): number | undefined {
    return this.depth > 0 ? this.bytes[this.depth - 1] : undefined;
  }

  push(byte: number): void {
    if (this.depth === this.bytes.length) {
      const larger = new Uint8Array(2 * this.depth);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.depth++] = byte;
  }

  pop(): void {
    this.depth--;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
