import { countPlaces, MAX_PLACES, pathPattern } from './path-pattern.js';
import { ruleLines, type Warnings } from './rule-lines.js';

/** A block of `_headers`. */
export interface HeaderRule {
  path: string;
  /** Name and value; null takes away what would be there. */
  set: [name: string, value: string | null][];
}

export const HEADERS_FILE = '_headers';
const MAX_RULES = 100;
const MAX_HEADERS = 50;
const MAX_LINE = 2000;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const VALUE = /^[\t\x20-\x7e]*$/;

/** What belongs to the connection, to the body as it is sent or to the platform, and is nobody else's to say. */
const NOT_THEIRS = new Set([
  'accept-ranges',
  'age',
  'allow',
  'alt-svc',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'host',
  'keep-alive',
  'last-modified',
  'location',
  'proxy-authenticate',
  'proxy-connection',
  'server',
  'status',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'x-request-id',
]);

/** Reads `_headers` as Netlify and Cloudflare Pages know it: a path, and below it, indented, `Name: value` or `! Name`. */
export function parseHeaders(content: Buffer, warnings: Warnings): HeaderRule[] {
  const rules: HeaderRule[] = [];
  let current: HeaderRule | undefined;
  for (const { number, text, indented } of ruleLines(HEADERS_FILE, content)) {
    const warn = (why: string) => warnings.add(HEADERS_FILE, number, `The line ${why}.`);
    if (text.length > MAX_LINE) {
      warn(`is longer than ${MAX_LINE} characters`);
    } else if (!indented) {
      current = undefined;
      if (/^https?:/i.test(text)) warn('names a host, which is not supported');
      else if (!pathPattern(text, 'anywhere')) warn('is no path such as /about, /blog/:slug or /assets/*');
      else if (rules.length >= MAX_RULES) warn(`is beyond the ${MAX_RULES} rules that have an effect`);
      else rules.push((current = { path: text, set: [] }));
    } else if (current) {
      const header = parseHeader(text, current.path);
      if (typeof header === 'string') warn(header);
      else if (current.set.length >= MAX_HEADERS)
        warn(`is beyond the ${MAX_HEADERS} headers of a path that have an effect`);
      else current.set.push(header);
    }
  }
  return rules.filter(({ set }) => set.length > 0);
}

/** The header, or what is wrong with it. */
function parseHeader(text: string, path: string): [name: string, value: string | null] | string {
  const removed = /^!\s*(\S+)$/.exec(text)?.[1];
  const colon = text.indexOf(':');
  if (removed === undefined && colon < 1) return 'is no header such as X-Frame-Options: DENY';
  const name = removed ?? text.slice(0, colon).trim();
  const value = removed === undefined ? text.slice(colon + 1).trim() : null;
  if (!NAME.test(name)) return 'has a name that no header can have';
  if (NOT_THEIRS.has(name.toLowerCase())) return 'sets a header that is not yours to set';
  if (value !== null && !VALUE.test(value)) return 'has a value that is not plain ASCII';
  if (value !== null && countPlaces(value, path) > MAX_PLACES) {
    return `has parts of the path in its value more than ${MAX_PLACES} times`;
  }
  return [name, value];
}
