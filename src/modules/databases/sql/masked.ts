const LOOKED_AT = 4000;
const KEPT = 500;
const STRING = /'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]|"")*(?:"|$)|\b0x[0-9a-f]+/gi;
const QUIET = /`[^`]*(?:`|$)|\/\*[\s\S]*?(?:\*\/|$)|(?:#|--\s)[^\n]*/.source;
const PIECES = new RegExp(`(${QUIET})|${STRING.source}`, 'gi');

/** A statement as it may stand in the activity log: without its strings and comments, and not at length. */
export function masked(sql: string): string {
  const text = sql
    .slice(0, LOOKED_AT)
    .replace(PIECES, (piece: string, quiet: string | undefined) => {
      if (quiet === undefined) return '?';
      return quiet.startsWith('`') ? piece : ' ';
    })
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > KEPT ? `${text.slice(0, KEPT)}…` : text;
}
