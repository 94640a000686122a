import { LessThanOrEqual, type FindOptionsOrder, type FindOptionsSelect, type FindOptionsWhere } from 'typeorm';
import type { Tx } from './database.js';

/** Deletes of some rows all but the newest, by their ids, which grow with time. */
export async function keepNewest<Row extends { id: string }>(
  { manager }: Tx,
  entity: new () => Row,
  rows: FindOptionsWhere<Row>,
  kept: number,
): Promise<void> {
  const [newest] = await manager.find(entity, {
    select: { id: true } as FindOptionsSelect<Row>,
    where: rows,
    order: { id: 'DESC' } as FindOptionsOrder<Row>,
    skip: kept,
    take: 1,
  });
  if (newest) await manager.delete(entity, { ...rows, id: LessThanOrEqual(newest.id) });
}
