/** One statement of a longer text. */
export interface Statement {
  sql: string;
  /** Counted from 1. */
  number: number;
  /** Line of its first character, counted from 1. */
  line: number;
  /** Where it stands in the text. */
  start: number;
  end: number;
}

const LONGEST_DELIMITER = 15;
const DELIMITER = /delimiter[ \t]+([^\s\\]+)[^\n]*/iy;
/** What dumps begin with so that clients run no commands of their own: not meant for the server. */
const SANDBOX = /(?:\/\*M?!999999)?\\-[^\n]*/y;
const NEWLINE = 0x0a;
const BACKSLASH = 0x5c;
const DOUBLE_QUOTE = 0x22;
const BACKTICK = 0x60;
const QUOTES = new Set([0x27, DOUBLE_QUOTE, BACKTICK]);
const HASH = 0x23;
const DASH = 0x2d;
const SLASH = 0x2f;
const STAR = 0x2a;

/**
 * Takes the text of a dump apart as the `mariadb` client does: statements end at the delimiter, unless it stands in quotes or
 * in a comment; `DELIMITER` changes it. Comments that hold code for some versions (`/*!`) are code. Commands of the client
 * are none here: they go to the server, which does not know them.
 */
export class StatementSplitter {
  /** Whether backslashes in strings are plain characters, as the session's sql_mode has it. */
  plainBackslashes = false;
  /** Whether double quotes hold names, in which backslashes are plain characters too. */
  ansiQuotes = false;
  private delimiter = ';';
  private at: number;
  private line = 1;
  private count = 0;

  constructor(private readonly text: string) {
    this.at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  }

  /** The next one; null when nothing but comments is left. */
  next(): Statement | null {
    this.skipToCode();
    if (this.at >= this.text.length) return null;
    const { at: start, line } = this;
    const end = this.endOfStatement();
    const sql = this.text.slice(start, end).trimEnd();
    return { sql, number: ++this.count, line, start, end: start + sql.length };
  }

  private skipToCode(): void {
    const { text } = this;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      if (isSpace(code)) this.moveTo(this.at + 1);
      else if (text.startsWith(this.delimiter, this.at)) this.moveTo(this.at + this.delimiter.length);
      // Where a statement might begin, the client takes two dashes for a comment whatever follows.
      else if (code === HASH || (code === DASH && text.charCodeAt(this.at + 1) === DASH))
        this.moveTo(this.endOfLine(this.at));
      else if (this.isPlainComment(this.at)) this.moveTo(this.endOfComment(this.at));
      else if (!this.skipCommand()) return;
    }
  }

  /** The client's own commands that dumps have. */
  private skipCommand(): boolean {
    SANDBOX.lastIndex = DELIMITER.lastIndex = this.at;
    if (SANDBOX.test(this.text)) {
      this.moveTo(SANDBOX.lastIndex);
      return true;
    }
    const [, delimiter] = DELIMITER.exec(this.text) ?? [];
    if (delimiter === undefined || delimiter.length > LONGEST_DELIMITER) return false;
    this.delimiter = delimiter;
    this.moveTo(DELIMITER.lastIndex);
    return true;
  }

  /** Moves behind the delimiter; answers where it stands. */
  private endOfStatement(): number {
    const { text, delimiter } = this;
    const first = delimiter.charCodeAt(0);
    let at = this.at;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code === first && text.startsWith(delimiter, at)) {
        this.moveTo(at + delimiter.length);
        return at;
      }
      if (QUOTES.has(code)) at = this.endOfQuoted(at, code);
      else if (code === HASH || this.isDashComment(at)) at = this.endOfLine(at);
      else if (this.isPlainComment(at)) at = this.endOfComment(at);
      else at++;
    }
    this.moveTo(text.length);
    return text.length;
  }

  private endOfQuoted(start: number, quote: number): number {
    const { text } = this;
    const ofName = quote === BACKTICK || (quote === DOUBLE_QUOTE && this.ansiQuotes);
    const escapes = !ofName && !this.plainBackslashes;
    for (let at = start + 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === quote) return at + 1;
      if (code === BACKSLASH && escapes) at++;
    }
    return text.length;
  }

  private isDashComment(at: number): boolean {
    const { text } = this;
    if (text.charCodeAt(at) !== DASH || text.charCodeAt(at + 1) !== DASH) return false;
    return at + 2 >= text.length || isSpace(text.charCodeAt(at + 2));
  }

  private isPlainComment(at: number): boolean {
    const { text } = this;
    if (text.charCodeAt(at) !== SLASH || text.charCodeAt(at + 1) !== STAR) return false;
    return text[at + 2] !== '!' && !text.startsWith('M!', at + 2);
  }

  private endOfComment(at: number): number {
    const end = this.text.indexOf('*/', at + 2);
    return end === -1 ? this.text.length : end + 2;
  }

  private endOfLine(at: number): number {
    const end = this.text.indexOf('\n', at);
    return end === -1 ? this.text.length : end;
  }

  private moveTo(at: number): void {
    for (let passed = this.at; passed < at; passed++) if (this.text.charCodeAt(passed) === NEWLINE) this.line++;
    this.at = at;
  }
}

/** Whether a text holds nothing to be run. */
export function isBlank(sql: string): boolean {
  return new StatementSplitter(sql).next() === null;
}

const READS = /^[(\s]{0,50}(?:select|show|desc|describe|explain|values|with|table)\b/i;

/** Whether a statement seems only to answer; what it calls may change something all the same. */
export function isRead(sql: string): boolean {
  return READS.test(new StatementSplitter(sql).next()?.sql.slice(0, 100) ?? '');
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}
