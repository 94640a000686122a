/*
 * Values as lines of a `.env` file that the readers in use (dotenv, Node, python-dotenv, POSIX shells) take for the same
 * text. No encoding satisfies all of them for every value, so there are four classes, from the plainest on; what falls into
 * the last one reads back exactly in shells only, and is named to whoever asks.
 */

export interface DotenvEntry {
  key: string;
  value: string;
}

export interface DotenvFile {
  /** Lines in the order of the entries, each with its line end. */
  text: string;
  /** Keys whose values not every reader reads back the same. */
  nonportable: string[];
}

const PLAIN = /^[A-Za-z0-9_./:@%+=,-]*$/;
/** A reader unescapes one of these inside single quotes. */
const NOT_IN_SINGLE = /['\r]|\\\\|\\$/;
const NOT_IN_DOUBLE = /["$\\`\r]/;

export function encodeDotenv(entries: readonly DotenvEntry[]): DotenvFile {
  const nonportable: string[] = [];
  const lines = entries.map(({ key, value }) => {
    if (PLAIN.test(value)) return `${key}=${value}\n`;
    if (!NOT_IN_SINGLE.test(value)) return `${key}='${value}'\n`;
    if (!NOT_IN_DOUBLE.test(value)) return `${key}="${value}"\n`;
    nonportable.push(key);
    return `${key}=${escaped(value)}\n`;
  });
  return { text: lines.join(''), nonportable };
}

/** A newline to every shell, of characters that no reader takes for the end of a line: IFS begins with space and tab. */
const NEWLINE_IN_LINE = '${IFS#??}';

/** In double quotes, exact in POSIX shells, and such that no reader finds another key in it or in the line after it. */
function escaped(value: string): string {
  const quote = value.indexOf('"');
  const [head, tail] = quote === -1 ? [value, ''] : [value.slice(0, quote), value.slice(quote)];
  // Some readers take the first quote for the last one, escaped or not: what follows must not be lines of their own.
  const text = escape(head) + escape(tail).replaceAll('\n', NEWLINE_IN_LINE);
  // Others take `\\"` for an escaped quote and go on to the next one, which the comment gives them.
  return value.endsWith('\\') ? `"${text}" #"` : `"${text}"`;
}

function escape(text: string): string {
  return text.replace(/[\\"$`]/g, '\\$&');
}

const HEADER_BYTES = 4096;

/** The value of `X-Vault-Nonportable`: the keys, as many of them as fit a header. Null when there are none. */
export function nonportableHeader(keys: readonly string[]): string | null {
  if (keys.length === 0) return null;
  const all = keys.join(',');
  if (all.length <= HEADER_BYTES) return all;
  return `${all.slice(0, all.lastIndexOf(',', HEADER_BYTES))},...`;
}
