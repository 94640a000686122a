import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const FILES = ['/etc/subuid', '/etc/subgid'];
const LOWEST_FIRST = 1_000_000;
const COUNT = 1_000_000_000;
/** Each container takes 65,536 ids of its own: what Debian gives by default is used up by some 150 of them. */
const ENOUGH = 100_000_000;

/** The file with a further range for root that is large enough; undefined when it has one. @param {string} text */
export function withLargeRange(text) {
  const lines = text.split('\n').filter((line) => line !== '');
  const isRoot = (/** @type {string} */ line) => line.startsWith('root:');
  if (lines.some((line) => isRoot(line) && Number(line.split(':')[2]) >= ENOUGH)) return undefined;
  const ends = lines.map((line) => line.split(':').map(Number)).map(([, first = 0, count = 0]) => first + count);
  return [...lines, `root:${Math.max(LOWEST_FIRST, ...ends)}:${COUNT}`, ''].join('\n');
}

/**
 * Gives root user ids enough for thousands of isolated containers, beyond all that are given out. Ranges that are
 * there stay: containers of other engines may live in them.
 */
export function enlargeIdRanges() {
  for (const file of FILES) {
    const changed = withLargeRange(existsSync(file) ? readFileSync(file, 'utf8') : '');
    if (changed === undefined) continue;
    writeFileSync(`${file}.berth`, changed, { mode: 0o644 });
    renameSync(`${file}.berth`, file);
  }
}
