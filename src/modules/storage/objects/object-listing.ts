import { successorOf } from './object-key.js';
import type { KeyRange, ListedObject } from './object.repository.js';

/** Where a page ends: behind a key, or behind all keys with a common beginning. */
export type Position = { key: Buffer } | { prefix: Buffer };

export interface Listing {
  objects: ListedObject[];
  prefixes: string[];
  /** What the next page goes on behind; null when there is none. */
  end: Position | null;
}

export interface ListingOrder {
  prefix: Buffer;
  delimiter: Buffer | null;
  limit: number;
  after: Position | null;
}

type ReadRange = (range: KeyRange, limit: number) => Promise<ListedObject[]>;

/** With a delimiter: what is read at first, and after each jump. A flat stretch is read in ever larger pieces. */
const FIRST_READ = 32;

/**
 * One page. Each read starts where the last one has ended, so a page costs the same at any depth; behind a common beginning
 * the next read starts where that is over, however many keys there are with it.
 */
export async function listPage(read: ReadRange, { prefix, delimiter, limit, after }: ListingOrder): Promise<Listing> {
  const objects: ListedObject[] = [];
  const prefixes: string[] = [];
  const to = successorOf(prefix);
  let from: Start = startOf(prefix, after);
  let end: Position | null = null;
  let size = delimiter ? Math.min(FIRST_READ, limit + 1) : limit + 1;
  for (;;) {
    const rows = await read({ ...from, to }, size);
    let jumped = false;
    for (const row of rows) {
      if (row.key.compare(from.from) < 0) continue; // has a beginning that is listed already
      const common = delimiter && commonPrefix(row.key, prefix, delimiter);
      if (objects.length + prefixes.length === limit) return { objects, prefixes, end };
      if (common) {
        prefixes.push(common.toString('utf8'));
        end = { prefix: common };
        jumped = true;
      } else {
        objects.push(row);
        end = { key: row.key };
      }
      from = startBehind(end);
    }
    if (rows.length < size) return { objects, prefixes, end: null };
    size = jumped ? FIRST_READ : Math.min(size * 2, limit + 1);
  }
}

type Start = Omit<KeyRange, 'to'>;

function startOf(prefix: Buffer, after: Position | null): Start {
  const start = after && startBehind(after);
  return start && start.from.compare(prefix) >= 0 ? start : { from: prefix, exclusive: false };
}

function startBehind(position: Position): Start {
  return 'key' in position
    ? { from: position.key, exclusive: true }
    : { from: successorOf(position.prefix)!, exclusive: false };
}

/** What a key has in common with others up to the delimiter, the delimiter included; null when it holds none. */
function commonPrefix(key: Buffer, prefix: Buffer, delimiter: Buffer): Buffer | null {
  const at = key.indexOf(delimiter, prefix.length);
  return at === -1 ? null : key.subarray(0, at + delimiter.length);
}
