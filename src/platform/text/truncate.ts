/**
 * The beginning of a text, of at most `max` UTF-16 units and without half of a surrogate pair at its end. What comes out is
 * well-formed, whatever comes in: MariaDB takes no JSON that is not.
 */
export function truncate(text: string, max: number): string {
  const last = text.length > max ? text.charCodeAt(max - 1) : 0;
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max;
  return text.slice(0, end).toWellFormed();
}
