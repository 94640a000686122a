const HEADER_TOKENS = 60;
/** In a header, what there is to be skipped, among it the ends of code for some versions; then one token. */
const SKIPPED = /(?:\s+|--(?:\s[^\n]*)?(?:\n|$)|#[^\n]*(?:\n|$)|\/\*M?!\d{0,6}|\/\*(?!M?!)[\s\S]*?\*\/|\*\/)*/y;
const TOKEN = /[\p{L}\p{N}_$.]+|'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S]|"")*"|`(?:[^`]|``)*`|[\s\S]/uy;
const DEFINED = new Set(['VIEW', 'TRIGGER', 'PROCEDURE', 'FUNCTION', 'EVENT', 'PACKAGE', 'TABLE']);

interface Token {
  text: string;
  start: number;
  end: number;
}

/**
 * The statement without its `DEFINER = …`: who imports a dump becomes the definer of what it makes, as nobody may make
 * something in another's name.
 */
export function withoutDefiner(sql: string): string {
  const tokens = new Tokens(sql);
  const first = tokens.next().text.toUpperCase();
  if (first !== 'CREATE' && first !== 'ALTER') return sql;
  for (let read = 0; read < HEADER_TOKENS; read++) {
    const token = tokens.next();
    const word = token.text.toUpperCase();
    if (word === '' || DEFINED.has(word)) return sql;
    if (word !== 'DEFINER' || tokens.next().text !== '=') continue;
    return sql.slice(0, token.start) + sql.slice(endOfUser(tokens));
  }
  return sql;
}

/** `name`, `name@host`, `CURRENT_USER` or `CURRENT_USER()`. */
function endOfUser(tokens: Tokens): number {
  const { end } = tokens.next();
  const mark = tokens.at;
  const after = tokens.next().text;
  if (after === '@' || after === '(') return tokens.next().end;
  tokens.at = mark;
  return end;
}

class Tokens {
  at = 0;

  constructor(private readonly sql: string) {}

  /** Empty at the end. */
  next(): Token {
    SKIPPED.lastIndex = this.at;
    SKIPPED.exec(this.sql);
    const start = SKIPPED.lastIndex;
    TOKEN.lastIndex = start;
    const text = TOKEN.exec(this.sql)?.[0] ?? '';
    this.at = start + text.length;
    return { text, start, end: this.at };
  }
}
