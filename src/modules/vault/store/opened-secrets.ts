/** A secret without its value. */
export interface NamedSecret {
  id: string;
  key: string;
}

/** The secrets of a service that are as whoever asks holds them; none of them was opened. */
export class UnchangedSecrets {
  constructor(readonly secrets: readonly NamedSecret[]) {}

  get keys(): string[] {
    return this.secrets.map(({ key }) => key);
  }
}

/** In the place of secrets that did not fit beside those of other services; none of them was opened. */
export const PUT_OFF = 'put off';

/** One secret in clear. */
export interface OpenedSecret extends NamedSecret {
  value: Buffer;
}

/**
 * The secrets of a service in clear, sorted by key. Several requests of one moment may share them: each lets go when its
 * answer is out, and after the last one the values are wiped.
 */
export class OpenedSecrets {
  private holders = 0;
  private asJson: Buffer | undefined;

  constructor(
    readonly secrets: readonly OpenedSecret[],
    /** Changes with any of them, and tells nothing about them. */
    readonly state: string,
  ) {}

  get keys(): string[] {
    return this.secrets.map(({ key }) => key);
  }

  /** Of all values together. */
  get bytes(): number {
    return this.secrets.reduce((sum, { value }) => sum + value.length, 0);
  }

  /** `{"KEY":"value",…}`, put together once for all who share it. */
  get json(): Buffer {
    return (this.asJson ??= secretsJson(this.secrets));
  }

  hold(): this {
    this.holders++;
    return this;
  }

  release(): void {
    if (--this.holders > 0) return;
    for (const { value } of this.secrets) value.fill(0);
    this.asJson?.fill(0);
  }
}

const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}');
const COMMA = Buffer.from(',');

/** Put together of bytes: values that need no escaping never become strings. */
function secretsJson(secrets: readonly OpenedSecret[]): Buffer {
  const parts: Buffer[] = [OPEN];
  secrets.forEach(({ key, value }, index) => {
    if (index > 0) parts.push(COMMA);
    if (needsEscape(value)) parts.push(Buffer.from(`"${key}":${JSON.stringify(value.toString('utf8'))}`));
    else parts.push(Buffer.from(`"${key}":"`), value, QUOTE);
  });
  parts.push(CLOSE);
  return Buffer.concat(parts);
}

const QUOTE = Buffer.from('"');

function needsEscape(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return true;
  return false;
}
