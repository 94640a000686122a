/** Part of a body; both ends belong to it. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * What a `Range` header asks of a body of `size` bytes (RFC 9110, section 14): one part, null for all of it, or
 * `unsatisfiable`. What is no range of bytes, or several at once, is answered with all of it, as a server may.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | null | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}

/**
 * Whether `If-Range` lets a part be sent: it names the very version that is there. Without the header it may be. A date does not
 * tell two versions of one second apart, so none will do (RFC 9110, section 13.1.5).
 */
export function rangeHolds(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange.trim() === etag;
}
