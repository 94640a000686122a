import { Column, PrimaryColumn, type ColumnOptions } from 'typeorm';

/*
 * Columns as this schema spells them, so that entities and migrations agree to the letter (the drift check compares them).
 */

const ASCII = { charset: 'ascii', collation: 'ascii_bin' } as const;

/** Primary key `<prefix>_<ULID>`. */
export function IdPrimary(name = 'id'): PropertyDecorator {
  return PrimaryColumn({ name, type: 'char', length: 30, ...ASCII });
}

/** Reference to another record by its id. */
export function IdColumn(name: string, options: ColumnOptions = {}): PropertyDecorator {
  return Column({ name, type: 'char', length: 30, ...ASCII, ...options });
}

/** Machine words: statuses, types, hashes. */
export function AsciiColumn(name: string, length: number, options: ColumnOptions = {}): PropertyDecorator {
  return Column({ name, type: 'varchar', length, ...ASCII, ...options });
}

/** Moment in UTC with milliseconds. */
export function TimeColumn(name: string, options: ColumnOptions = {}): PropertyDecorator {
  return Column({ name, type: 'datetime', precision: 3, ...options });
}

/** The driver hands 64-bit integers out as text; what we count stays below 2^53. */
export const asNumber = {
  to: (value: number | null) => value,
  from: (value: string | number | null) => (value === null ? null : Number(value)),
};

/** A number of bytes or of things, as 64 bits without a sign. */
export function CountColumn(name: string, options: ColumnOptions = {}): PropertyDecorator {
  return Column({ name, type: 'bigint', unsigned: true, transformer: asNumber, ...options });
}
