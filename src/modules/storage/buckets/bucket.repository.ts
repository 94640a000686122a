import { Injectable } from '@nestjs/common';
import { IsNull, LessThan } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { Bucket } from './bucket.entity.js';

export interface StorageUse {
  buckets: number;
  objects: number;
  /** What objects have. */
  bytes: number;
  /** What is kept free for objects that are on their way in. */
  reserved: number;
}

const USE = `
  SELECT COUNT(*) AS buckets, COALESCE(SUM(objects), 0) AS objects, COALESCE(SUM(used_bytes), 0) AS bytes,
         (SELECT COALESCE(SUM(reserved_bytes), 0) FROM object_uploads WHERE account_id = ?) AS reserved
    FROM buckets WHERE account_id = ? AND deleted_at IS NULL`;

/** Look-ups of buckets. None of them sees another account's, nor what is being deleted. */
@Injectable()
export class BucketRepository {
  constructor(private readonly database: Database) {}

  list(accountId: string, limit: number, before?: string): Promise<Bucket[]> {
    return this.database.manager.find(Bucket, {
      where: { accountId, deletedAt: IsNull(), ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  async findOwned({ manager }: Pick<Tx, 'manager'>, accountId: string, id: string): Promise<Bucket> {
    const bucket = await manager.findOneBy(Bucket, { id, accountId, deletedAt: IsNull() });
    if (!bucket) throw notFound();
    return bucket;
  }

  /** The same, holding the row until the transaction ends. */
  async lockOwned(tx: Tx, accountId: string, id: string): Promise<Bucket> {
    const bucket = await tx.manager.findOne(Bucket, {
      where: { id, accountId, deletedAt: IsNull() },
      lock: { mode: 'pessimistic_write' },
    });
    if (!bucket) throw notFound();
    return bucket;
  }

  /** What counts against the plan. Whoever decides by it holds the account's lock. */
  async use({ manager }: Pick<Tx, 'manager'>, accountId: string): Promise<StorageUse> {
    const [row] = await manager.query<Record<keyof StorageUse, unknown>[]>(USE, [accountId, accountId]);
    const { buckets, objects, bytes, reserved } = row!;
    return { buckets: Number(buckets), objects: Number(objects), bytes: Number(bytes), reserved: Number(reserved) };
  }

  /** Counts a change of the objects of a bucket whose row is held. */
  async count(tx: Tx, id: string, objects: number, bytes: number): Promise<void> {
    await tx.manager.query(
      'UPDATE buckets SET objects = objects + ?, used_bytes = used_bytes + ?, revision = revision + 1 WHERE id = ?',
      [objects, bytes, id],
    );
  }
}
