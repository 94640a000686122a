import { createPublicKey, type JsonWebKey } from 'node:crypto';

/** Why a text is not a public key that a machine takes. `detail` goes on after "sshKey". */
export interface KeyFault {
  code: string;
  detail: string;
}

const MAX_LENGTH = 8192;
const MAX_COMMENT = 200;
const RSA_BITS = { min: 2048, max: 16_384 };

const CURVES: Record<string, { crv: string; bytes: number }> = {
  nistp256: { crv: 'P-256', bytes: 32 },
  nistp384: { crv: 'P-384', bytes: 48 },
  nistp521: { crv: 'P-521', bytes: 66 },
};

type Body = (fields: Fields, name: string) => KeyFault | undefined;

/** The kinds of keys that are taken, by their names, and what stands in the body after the name. */
const KINDS: Record<string, Body> = {
  'ssh-ed25519': (fields) => ed25519(fields),
  'ssh-rsa': (fields) => rsa(fields),
  'ecdsa-sha2-nistp256': (fields) => ecdsa(fields, 'nistp256'),
  'ecdsa-sha2-nistp384': (fields) => ecdsa(fields, 'nistp384'),
  'ecdsa-sha2-nistp521': (fields) => ecdsa(fields, 'nistp521'),
  'sk-ssh-ed25519@openssh.com': (fields) => ed25519(fields) ?? application(fields),
  'sk-ecdsa-sha2-nistp256@openssh.com': (fields) => ecdsa(fields, 'nistp256') ?? application(fields),
};

export const KEY_KINDS = Object.keys(KINDS);

/**
 * Judges one line of `authorized_keys`: a kind, its body, perhaps a comment, and nothing else. Options such as `command=` are
 * refused, and so is a body that is not wholly what the kind says (RFC 4253 6.6, RFC 5656 3.1, RFC 8709 4, OpenSSH's
 * PROTOCOL.u2f).
 */
export function judgeSshKey(text: unknown): KeyFault | undefined {
  if (typeof text !== 'string') return { code: 'type', detail: 'must be text' };
  if (text.length > MAX_LENGTH)
    return { code: 'max_length', detail: `must not have more than ${MAX_LENGTH} characters` };
  if (/[\r\n\0]/.test(text)) return { code: 'one_line', detail: 'must be one line' };
  if (/\p{Cc}|\p{Cf}|\u2028|\u2029/u.test(text) || !text.isWellFormed())
    return { code: 'control_character', detail: 'must not hold control characters' };
  const [, kind, encoded, comment = ''] = /^(\S+) (\S+)(?: (.*))?$/.exec(text) ?? [];
  if (kind === undefined || encoded === undefined)
    return { code: 'form', detail: 'must be a kind, a body and perhaps a comment, with one space between them' };
  if (!Object.hasOwn(KINDS, kind))
    return { code: 'kind', detail: `must begin with the kind of the key, without options: ${KEY_KINDS.join(', ')}` };
  if (comment.length > MAX_COMMENT)
    return { code: 'comment', detail: `must not have a comment of more than ${MAX_COMMENT} characters` };
  const body = Buffer.from(encoded, 'base64');
  if (body.toString('base64') !== encoded) return { code: 'encoding', detail: 'must have a body in base64' };
  const fields = new Fields(body);
  if (fields.text() !== kind) return { code: 'mismatch', detail: `must have a body that is of the kind ${kind} too` };
  const fault = KINDS[kind]!(fields, kind);
  if (fault) return fault;
  return fields.atEnd ? undefined : broken('has more in its body than the key');
}

/** The fields of a key's body, each with its length before it. */
class Fields {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Null when the body ends before the field does. */
  next(): Buffer | null {
    if (this.at + 4 > this.bytes.length) return null;
    const length = this.bytes.readUInt32BE(this.at);
    const end = this.at + 4 + length;
    if (end > this.bytes.length) return null;
    const field = this.bytes.subarray(this.at + 4, end);
    this.at = end;
    return field;
  }

  text(): string | null {
    return this.next()?.toString('latin1') ?? null;
  }

  get atEnd(): boolean {
    return this.at === this.bytes.length;
  }
}

function ed25519(fields: Fields): KeyFault | undefined {
  const point = fields.next();
  return point?.length === 32 ? undefined : broken('must hold a point of 32 bytes');
}

function ecdsa(fields: Fields, curve: string): KeyFault | undefined {
  const { crv, bytes } = CURVES[curve]!;
  if (fields.text() !== curve)
    return { code: 'mismatch', detail: `must have a body that is of the curve ${curve} too` };
  const point = fields.next();
  if (point?.length !== 1 + 2 * bytes || point[0] !== 4) return broken(`must hold an uncompressed point of ${curve}`);
  const coordinate = (from: number) => point.subarray(from, from + bytes).toString('base64url');
  const jwk = { kty: 'EC', crv, x: coordinate(1), y: coordinate(1 + bytes) };
  return isKey(jwk) ? undefined : broken(`must hold a point that is on ${curve}`);
}

function rsa(fields: Fields): KeyFault | undefined {
  const [exponent, modulus] = [positive(fields.next()), positive(fields.next())];
  if (!exponent || !modulus) return broken('must hold an exponent and a modulus');
  const bits = (modulus.length - 1) * 8 + (32 - Math.clz32(modulus[0]!));
  if (bits < RSA_BITS.min || bits > RSA_BITS.max)
    return { code: 'key_size', detail: `must have ${RSA_BITS.min} to ${RSA_BITS.max} bits` };
  const weak = exponent.length > 8 || (exponent.length === 1 && exponent[0]! < 3);
  const even = (exponent.at(-1)! & 1) === 0 || (modulus.at(-1)! & 1) === 0;
  return weak || even ? broken('must hold an odd exponent of at least 3 and an odd modulus') : undefined;
}

/** A positive number as RFC 4251 writes it: no needless byte before it, and none with the sign. */
function positive(field: Buffer | null): Buffer | null {
  if (!field || field.length === 0 || (field[0]! & 0x80) !== 0) return null;
  if (field[0] !== 0) return field;
  return field.length > 1 && (field[1]! & 0x80) !== 0 ? field.subarray(1) : null;
}

function application(fields: Fields): KeyFault | undefined {
  const name = fields.text();
  return name !== null && /^ssh:[\x21-\x7e]*$/.test(name) ? undefined : broken('must name an application ssh:…');
}

function isKey(key: JsonWebKey): boolean {
  try {
    createPublicKey({ key, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

function broken(detail: string): KeyFault {
  return { code: 'key_body', detail };
}
