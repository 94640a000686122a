import { truncate } from '../../platform/text/truncate.js';

const MAX_LINES = 100;
const MAX_LINE = 1000;
const MAX_CHARACTERS = 32 * 1024;

/** The newest lines of a console, bounded in number and size: a program may print what it likes. */
export function lastLines(console: string): string[] {
  const lines = console.slice(-2 * MAX_CHARACTERS).split(/(?<!\r)\r*\n/);
  if (lines.at(-1) === '') lines.pop();
  const kept: string[] = [];
  let room = MAX_CHARACTERS;
  for (const line of lines.slice(-MAX_LINES).reverse()) {
    const shown = truncate(line, MAX_LINE).replaceAll('\0', '');
    room -= shown.length;
    if (room < 0) break;
    kept.push(shown);
  }
  return kept.reverse();
}
