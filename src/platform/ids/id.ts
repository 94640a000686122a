import { randomFillSync } from 'node:crypto';
import { encodeTime, monotonicFactory } from 'ulid';

/** Prefix of each kind of record that has an id of its own; all are `<prefix>_<ULID in lower case>`, 30 characters at most. */
export const ID_PREFIXES = [
  'usr',
  'srv',
  'key',
  'sec',
  'sch',
  'tsk',
  'job',
  'alc',
  'lxc',
  'prt',
  'pag',
  'dep',
  'bkt',
  'db',
  'prj',
  'scn',
  'op',
  'act',
  'nod',
  'run',
  'ntf',
  'bak',
  'inc',
  'dbh',
  'snp',
] as const;

export type IdPrefix = (typeof ID_PREFIXES)[number];

const random = new Uint8Array(1024);
let used = random.length;

/** From 0 up to 1: the package asks once for each character, and to ask the system each time costs more than all the rest. */
function nextRandom(): number {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  return random[used++]! / 256;
}

const nextUlid = monotonicFactory(nextRandom);

/** A new time-ordered id; ids made by one process sort in the order they were made. */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${nextUlid().toLowerCase()}`;
}

/** What all ids made at that time or later come after, to look through the newest rows alone. */
export function idFloor(prefix: IdPrefix, time: Date): string {
  return `${prefix}_${encodeTime(time.getTime()).toLowerCase()}`;
}

/** Pattern of the ids of one kind: Crockford base32 in lower case, the first character at most 7 (128 bits). */
export function idPattern(prefix: IdPrefix): RegExp {
  return new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`);
}

const patterns = new Map(ID_PREFIXES.map((prefix) => [prefix, idPattern(prefix)]));

export function isId(prefix: IdPrefix, value: unknown): value is string {
  return typeof value === 'string' && patterns.get(prefix)!.test(value);
}
