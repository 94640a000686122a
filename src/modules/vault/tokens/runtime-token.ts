import { createHash, randomBytes } from 'node:crypto';

const BYTES = 24;
const SHOWN = 'evt_'.length + 8;
const SCHEME = 'bearer ';
const TOKEN = /^evt_[0-9a-f]{48}$/;

export function newRuntimeToken(): { token: string; prefix: string; hash: string } {
  const token = `evt_${randomBytes(BYTES).toString('hex')}`;
  return { token, prefix: token.slice(0, SHOWN), hash: hashOfToken(token).toString('hex') };
}

export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The token in the header; null when there is none of the right shape. */
export function tokenIn(authorization = ''): string | null {
  const token = authorization.slice(SCHEME.length);
  return authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME && TOKEN.test(token) ? token : null;
}
