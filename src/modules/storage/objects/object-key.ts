import type { Judge } from '../../../platform/http/fields.js';

export const MAX_KEY_BYTES = 1024;

const CONTROL = /\p{Cc}/u;

/** Any text of 1 to 1024 bytes without control characters: dots, slashes and blanks are data like all else. */
export const judgeKey: Judge = (value) => judge(value, 1);

/** The beginning of a key; nothing is the beginning of all. */
export const judgePrefix: Judge = (value) => judge(value, 0);

function judge(value: unknown, min: number): ReturnType<Judge> {
  if (typeof value !== 'string') return { code: 'type', detail: 'must be given once', meta: { expected: 'string' } };
  if (!value.isWellFormed()) return { code: 'malformed_text', detail: 'must be well-formed Unicode' };
  if (value.length < min) return { code: 'min_length', detail: 'must not be empty', meta: { limit: min } };
  if (Buffer.byteLength(value) > MAX_KEY_BYTES) {
    const meta = { limit: MAX_KEY_BYTES };
    return { code: 'max_bytes', detail: `must not be longer than ${MAX_KEY_BYTES} bytes`, meta };
  }
  if (CONTROL.test(value)) return { code: 'control_character', detail: 'must not hold control characters' };
  return undefined;
}

/** The least bytes that come after all that begin with these; null when there are none such. */
export function successorOf(bytes: Buffer): Buffer | null {
  // UTF-8 knows no byte 0xff, so the last one can always be raised.
  if (bytes.length === 0) return null;
  const next = Buffer.from(bytes);
  next[next.length - 1]! += 1;
  return next;
}
