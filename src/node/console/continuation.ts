const TELLING = 256;

/**
 * Where `text` goes on after what is known: `log` was read while `text` was arriving, so that the end of the one is somewhere
 * in the other. `from` is how much of `text` was there before the log was asked for, and is in it for certain.
 */
export function overlap(log: string, text: string, from: number): number {
  const tail = log.slice(-TELLING);
  for (let end = Math.max(from, 1); end <= text.length; end++) {
    const known = text.slice(Math.max(0, end - tail.length), end);
    if (known.length > 0 && tail.endsWith(known)) return end;
  }
  return 0;
}

/** The part of `log` that comes after the end of `known`; all of it when it does not hold that. */
export function after(known: string, log: string): string {
  const tail = known.slice(-TELLING);
  if (tail === '') return log;
  const at = log.lastIndexOf(tail);
  return at < 0 ? log : log.slice(at + tail.length);
}
