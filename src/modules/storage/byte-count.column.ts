import { Column } from 'typeorm';

/** The driver hands 64-bit integers out as text; counts of bytes stay below 2^53. */
const asNumber = { to: (value: number) => value, from: (value: string | number) => Number(value) };

/** A number of bytes or of things. */
export function CountColumn(name: string): PropertyDecorator {
  return Column({ name, type: 'bigint', unsigned: true, transformer: asNumber });
}
