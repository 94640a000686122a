import { truncate } from '../../../platform/text/truncate.js';
import { StatementSplitter } from './statement-splitter.js';

const LOOKED_AT = 4000;
const KEPT = 500;
const STRING = /'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]|"")*(?:"|$)|\b0[xX][0-9a-fA-F]+/.source;
/** Comments that hold code for some versions are none here; the server knows them by an `M` only, not by an `m`. */
const QUIET = /`[^`]*(?:`|$)|\/\*(?!M?!)[\s\S]*?(?:\*\/|$)|(?:#|--\s)[^\n]*/.source;
const PIECES = new RegExp(`(${QUIET})|${STRING}`, 'g');

/** A statement as it may stand in the activity log: without its strings and comments, and not at length. */
export function masked(sql: string): string {
  const begin = new StatementSplitter(sql).next()?.start ?? 0;
  const text = truncate(sql.slice(begin), LOOKED_AT)
    .replace(PIECES, (piece: string, quiet: string | undefined) => {
      if (quiet === undefined) return '?';
      return quiet.startsWith('`') ? piece : ' ';
    })
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > KEPT ? `${truncate(text, KEPT)}…` : text;
}
