import type { FieldPacket } from 'mysql2';
import type { Cell, Column } from '../database-host.js';

const BINARY = 63;
const ENUM_FLAG = 256;
const SET_FLAG = 2048;
const UNSIGNED_FLAG = 32;
const GEOMETRY = 255;
const BIT = 16;

/** Names of the protocol's column types; those of text have another name for bytes. */
const TYPES: Record<number, string | [text: string, binary: string]> = {
  0: 'DECIMAL',
  1: 'TINYINT',
  2: 'SMALLINT',
  3: 'INT',
  4: 'FLOAT',
  5: 'DOUBLE',
  6: 'NULL',
  7: 'TIMESTAMP',
  8: 'BIGINT',
  9: 'MEDIUMINT',
  10: 'DATE',
  11: 'TIME',
  12: 'DATETIME',
  13: 'YEAR',
  14: 'DATE',
  15: ['VARCHAR', 'VARBINARY'],
  [BIT]: 'BIT',
  245: 'JSON',
  246: 'DECIMAL',
  247: 'ENUM',
  248: 'SET',
  249: ['TINYTEXT', 'TINYBLOB'],
  250: ['MEDIUMTEXT', 'MEDIUMBLOB'],
  251: ['LONGTEXT', 'LONGBLOB'],
  252: ['TEXT', 'BLOB'],
  253: ['VARCHAR', 'VARBINARY'],
  254: ['CHAR', 'BINARY'],
  [GEOMETRY]: 'GEOMETRY',
};
/** Whole numbers that a JSON number holds exactly, and floating ones, which are none the less. */
const NUMBERS = new Set([1, 2, 3, 4, 5, 9, 13]);
const WHOLE = new Set([1, 2, 3, 8, 9]);

/** What the protocol says of a column, as far as it is needed here. */
export type Field = Pick<FieldPacket, 'name'> & { columnType: number; characterSet: number; flags: number | string[] };

export function columnOf({ name, columnType, characterSet, flags }: Field): Column {
  const bits = typeof flags === 'number' ? flags : 0;
  if (bits & ENUM_FLAG) return { name, type: 'ENUM' };
  if (bits & SET_FLAG) return { name, type: 'SET' };
  const type = TYPES[columnType] ?? 'UNKNOWN';
  if (typeof type !== 'string') return { name, type: type[characterSet === BINARY ? 1 : 0] };
  return { name, type: WHOLE.has(columnType) && bits & UNSIGNED_FLAG ? `${type} UNSIGNED` : type };
}

/** A value as the server sent it, for JSON. */
export function cellOf({ columnType, characterSet }: Field, bytes: Buffer | null): Cell {
  if (bytes === null) return null;
  if (NUMBERS.has(columnType)) return Number(bytes.toString('latin1'));
  if (columnType === BIT) return bytes.length === 0 ? '0' : BigInt(`0x${bytes.toString('hex')}`).toString();
  const text = typeof TYPES[columnType] === 'string' ? columnType !== GEOMETRY : characterSet !== BINARY;
  return bytes.toString(text ? 'utf8' : 'base64');
}
