/** All that may stand between `CREATE` and `DEFINER`, in no header more often than this. */
const BEFORE = new Set(['OR', 'REPLACE', 'ALGORITHM', '=', 'UNDEFINED', 'MERGE', 'TEMPTABLE']);
const MOST_BEFORE = 5;
/**
 * One piece of what is to be skipped in a header, among it the ends of code for some versions. One at a time: a group that is
 * repeated takes room for every turn, and a dump may hold millions of comments.
 */
const SKIPPED = /\s+|--(?:\s[^\n]*|$)|#[^\n]*|\/\*M?!\d{0,6}|\/\*(?!M?!)[\s\S]*?\*\/|\*\//y;
/** One token. What is quoted is only read where a user stands, whose name is short, so a longer text is none. */
const TOKEN =
  /[\p{L}\p{N}_$.]+|'(?:[^'\\]|\\[\s\S]|''){0,300}'|"(?:[^"\\]|\\[\s\S]|""){0,300}"|`(?:[^`]|``){0,300}`|[\s\S]/uy;

interface Token {
  text: string;
  start: number;
  end: number;
}

/**
 * The statement without its `DEFINER = …`: who imports a dump becomes the definer of what it makes, as nobody may make
 * something in another's name. Only where the grammar has it: anywhere else the word may be a column's name.
 */
export function withoutDefiner(sql: string): string {
  const tokens = new Tokens(sql);
  const first = tokens.next().text.toUpperCase();
  if (first !== 'CREATE' && first !== 'ALTER') return sql;
  let token = tokens.next();
  for (let read = 0; read < MOST_BEFORE && BEFORE.has(token.text.toUpperCase()); read++) token = tokens.next();
  if (token.text.toUpperCase() !== 'DEFINER' || tokens.next().text !== '=') return sql;
  return sql.slice(0, token.start) + sql.slice(endOfUser(tokens));
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
    for (SKIPPED.lastIndex = this.at; SKIPPED.test(this.sql);) this.at = SKIPPED.lastIndex;
    const start = this.at;
    TOKEN.lastIndex = start;
    const text = TOKEN.exec(this.sql)?.[0] ?? '';
    this.at = start + text.length;
    return { text, start, end: this.at };
  }
}
