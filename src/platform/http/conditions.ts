import type { IncomingHttpHeaders } from 'node:http';

/** What tells one version of something from another. */
export interface Version {
  /** Strong, with its quotes. */
  etag: string;
  modifiedAt: Date;
}

/** What the conditions of a request come to: go on, 304 or 412. */
export type Verdict = 'go_on' | 'not_modified' | 'failed';

/**
 * Judges the conditions of a request (RFC 9110, section 13.2.2) about what is there now; null for nothing. A date that is none
 * is no condition.
 */
export function judgeConditions(method: string, headers: IncomingHttpHeaders, version: Version | null): Verdict {
  const reads = method === 'GET' || method === 'HEAD';
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, version, true)) return 'failed';
  } else if (version && modifiedSince(headers['if-unmodified-since'], version) === true) {
    return 'failed';
  }
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    if (matches(ifNoneMatch, version, false)) return reads ? 'not_modified' : 'failed';
  } else if (reads && version && modifiedSince(headers['if-modified-since'], version) === false) {
    return 'not_modified';
  }
  return 'go_on';
}

function matches(header: string, version: Version | null, strong: boolean): boolean {
  if (!version) return false;
  if (header.trim() === '*') return true;
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => (strong ? tag : tag.replace(/^W\//, '')) === version.etag);
}

/** The form that is sent and the two old ones that are to be understood (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** Undefined when the header says no date. */
function modifiedSince(header: string | undefined, { modifiedAt }: Version): boolean | undefined {
  const date = header?.trim() ?? '';
  if (!HTTP_DATE.test(date) && !ASCTIME.test(date)) return undefined;
  // Without its zone the old form would be read as local time.
  const since = Date.parse(date.endsWith('GMT') ? date : `${date} GMT`);
  return Number.isNaN(since) ? undefined : Math.floor(modifiedAt.getTime() / 1000) * 1000 > since;
}
