import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';

/** Wildcards of one pattern. A rule that has more is cut there when it forbids, and left out when it allows. */
export const MOST_WILDCARDS = 20;
/** Each character of an address comes to three at most. */
const MAX_PATH = 3 * MAX_URL_LENGTH;

/** A path pattern of robots.txt (RFC 9309): held against a path in time that grows with the sum of both. */
export class RobotsPattern {
  private constructor(
    private readonly start: string,
    /** What comes after it with wildcards before each. */
    private readonly parts: readonly Part[],
    /** Whether the path ends with the pattern. */
    private readonly isAnchored: boolean,
    /** By which the most specific rule is found. */
    readonly length: number,
  ) {}

  /** Undefined for one that matches no address there is, and for one that is left out. */
  static parse(text: string, allow: boolean): RobotsPattern | undefined {
    const hasAnchor = text.endsWith('$');
    const literals = (hasAnchor ? text.slice(0, -1) : text).split(/\*+/, MOST_WILDCARDS + 2).map(normalised);
    const isCut = literals.length > MOST_WILDCARDS + 1;
    if (isCut && allow) return undefined;
    if (isCut) literals.pop();
    const length = literals.reduce((sum, literal) => sum + literal.length, literals.length - 1);
    if (length > MAX_PATH) return undefined;
    const [start, ...parts] = literals;
    return new RobotsPattern(start!, parts.map(partOf), hasAnchor && !isCut, length + Number(hasAnchor));
  }

  /** The path is a {@link normalised} one. Each part is looked for from where the last one ends at the earliest. */
  matches(path: string): boolean {
    if (!path.startsWith(this.start)) return false;
    const last = this.isAnchored ? this.parts.at(-1) : undefined;
    let at = this.start.length;
    for (const part of this.parts) {
      if (part === last) return at + part.text.length <= path.length && path.endsWith(part.text);
      at = endOf(part, path, at);
      if (at === -1) return false;
    }
    return !this.isAnchored || at === path.length;
  }
}

/** With one spelling for what may be spelled in several ways. `*` and `$` as such are left to patterns. */
export function normalised(text: string): string {
  return encodeURI(text.toWellFormed())
    .replace(/%25/g, '%')
    .replace(/%[0-9a-f]{2}/gi, (octet) => {
      const character = String.fromCharCode(parseInt(octet.slice(1), 16));
      return /[\w.~-]/.test(character) ? character : octet.toUpperCase();
    })
    .replace(/[*$]/g, (character) => (character === '*' ? '%2A' : '%24'));
}

interface Part {
  text: string;
  /** For each place, how much of the beginning stands before it once more (Knuth, Morris and Pratt). */
  borders: readonly number[];
}

function partOf(text: string): Part {
  const borders = [0];
  for (let at = 1, border = 0; at < text.length; at++) {
    const next = text.charCodeAt(at);
    while (border > 0 && next !== text.charCodeAt(border)) border = borders[border - 1]!;
    if (next === text.charCodeAt(border)) border++;
    borders.push(border);
  }
  return { text, borders };
}

/** The end of the first place of a part in a text, from an index on; -1 when there is none. */
function endOf({ text: part, borders }: Part, text: string, from: number): number {
  if (part === '') return from;
  for (let at = from, found = 0; at < text.length; at++) {
    const next = text.charCodeAt(at);
    while (found > 0 && next !== part.charCodeAt(found)) found = borders[found - 1]!;
    if (next === part.charCodeAt(found)) found++;
    if (found === part.length) return at + 1;
  }
  return -1;
}
