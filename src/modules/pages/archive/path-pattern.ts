const PLACEHOLDER = /^:([A-Za-z]\w{0,31})$/;
const PLACES = /:([A-Za-z]\w{0,31})/g;

/** How often one text may have in it what was captured; whoever asks chooses how long that is. */
export const MAX_PLACES = 10;

export type Captures = Record<string, string>;

/** What a pattern finds in a path; null when it does not fit. */
export type PathPattern = (path: string) => Captures | null;

/**
 * `/blog/:year/*`: `:name` stands for one segment and `*`, once, for anything, slashes included; it is captured as `splat`.
 * Undefined for what is no such pattern. Each takes time in proportion to the path's length, whatever both are.
 */
export function pathPattern(text: string, splat: 'at_end' | 'anywhere'): PathPattern | undefined {
  const decoded = decode(text);
  if (decoded === undefined || !decoded.startsWith('/')) return undefined;
  const star = decoded.indexOf('*');
  if (star === -1) {
    const segments = segmentsOf(decoded);
    return segments && ((path) => exactly(segments, path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path));
  }
  const [before, after] = [decoded.slice(0, star), decoded.slice(star + 1)];
  if (after.includes('*') || (splat === 'at_end' && (after !== '' || !before.endsWith('/')))) return undefined;
  // Placeholders stand in whole segments before the one with the star.
  const cut = before.lastIndexOf('/') + 1;
  const segments = segmentsOf(before.slice(0, cut - 1) || '/');
  if (!segments || /(^|\/):/.test(before.slice(cut) + after)) return undefined;
  return (path) => withSplat(segments, before.slice(cut), after, path);
}

type Segment = { literal: string } | { name: string };

function segmentsOf(path: string): Segment[] | undefined {
  const segments: Segment[] = [];
  const names = new Set<string>();
  for (const part of path.replace(/\/$/, '').split('/').slice(1)) {
    const name = PLACEHOLDER.exec(part)?.[1];
    if (part.startsWith(':') && (name === undefined || names.has(name) || name === 'splat')) return undefined;
    if (name !== undefined) names.add(name);
    segments.push(name === undefined ? { literal: part } : { name });
  }
  return segments;
}

function exactly(segments: Segment[], path: string): Captures | null {
  const rest = leading(segments, path);
  return rest && (rest.path === '' || rest.path === '/') ? rest.captures : null;
}

/** What the segments capture at the front of the path, and what is left of it. */
function leading(segments: Segment[], path: string): { captures: Captures; path: string } | null {
  const captures: Captures = {};
  let at = 0;
  for (const segment of segments) {
    if (path[at] !== '/') return null;
    const next = path.indexOf('/', at + 1);
    const end = next === -1 ? path.length : next;
    const part = path.slice(at + 1, end);
    if ('literal' in segment ? segment.literal !== part : part === '') return null;
    if ('name' in segment) captures[segment.name] = part;
    at = end;
  }
  return { captures, path: path.slice(at) };
}

function withSplat(segments: Segment[], start: string, end: string, path: string): Captures | null {
  const rest = leading(segments, path);
  if (!rest) return null;
  // The folder itself is within `/folder/*`.
  if (rest.path === '') return start === '' && end === '' ? { ...rest.captures, splat: '' } : null;
  const tail = rest.path.slice(1);
  if (!tail.startsWith(start) || !tail.endsWith(end) || tail.length < start.length + end.length) return null;
  return { ...rest.captures, splat: tail.slice(start.length, tail.length - end.length) };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** How often a text has in it what the pattern captures. */
export function countPlaces(text: string, pattern: string): number {
  const names = new Set(Array.from(pattern.matchAll(PLACES), ([, name]) => name));
  if (pattern.includes('*')) names.add('splat');
  return Array.from(text.matchAll(PLACES)).filter(([, name]) => names.has(name)).length;
}

/** A text with captures filled in; null where it would have more characters than the limit, and then it is not built. */
export type Template = (captures: Captures, limit: number) => string | null;

/** `:name` and `:splat` stand for what was captured. */
export function template(text: string): Template {
  // Texts and names in turn.
  const [start = '', ...rest] = text.split(PLACES);
  return (captures, limit) => {
    let filled = start;
    for (let at = 0; at < rest.length && filled.length <= limit; at += 2) {
      const name = rest[at]!;
      filled += (Object.hasOwn(captures, name) ? captures[name]! : `:${name}`) + rest[at + 1]!;
    }
    return filled.length <= limit ? filled : null;
  };
}

/** Once for a rule, however often it says them. */
export function encodeCaptures(captures: Captures, encode: (value: string) => string): Captures {
  return Object.fromEntries(Object.entries(captures).map(([name, value]) => [name, encode(value)]));
}
