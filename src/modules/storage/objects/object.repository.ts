import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../../platform/database/database.js';
import { DiscardedBlob } from './discarded-blob.entity.js';
import { ObjectUpload } from './object-upload.entity.js';
import { StoredObject } from './stored-object.entity.js';

/** What a listing tells of an object. */
export type ListedObject = Pick<StoredObject, 'key' | 'size' | 'contentType' | 'etag' | 'modifiedAt'>;

/** A stretch of the keys of a bucket, in the order of their bytes. */
export interface KeyRange {
  /** The first key that may be in it, or the last one before it. */
  from: Buffer;
  exclusive: boolean;
  /** The first one that is behind it; null for no end. */
  to: Buffer | null;
}

/** The rows of objects, and what becomes of their blobs. Whoever changes any holds the bucket's row. */
@Injectable()
export class ObjectRepository {
  constructor(private readonly database: Database) {}

  find({ manager }: Pick<Tx, 'manager'>, bucketId: string, key: Buffer): Promise<StoredObject | null> {
    return manager
      .createQueryBuilder(StoredObject, 'object')
      .where('object.bucketId = :bucketId AND object.key = :key', { bucketId, key })
      .getOne();
  }

  /** The first ones of a stretch, read along the primary key. */
  async range(bucketId: string, { from, exclusive, to }: KeyRange, limit: number): Promise<ListedObject[]> {
    const rows = await this.database.manager.query<(Omit<ListedObject, 'size'> & { size: unknown })[]>(
      `SELECT object_key AS \`key\`, size, content_type AS contentType, CONCAT('"', sha256, '"') AS etag,
              modified_at AS modifiedAt
         FROM bucket_objects
        WHERE bucket_id = ? AND object_key ${exclusive ? '>' : '>='} ? ${to ? 'AND object_key < ?' : ''}
        ORDER BY object_key LIMIT ?`,
      [bucketId, from, ...(to ? [to] : []), limit],
    );
    return rows.map((row) => ({ ...row, size: Number(row.size) }));
  }

  /** Puts the object in the place of the one that was there; that one's blob is left to be removed. */
  async swap(tx: Tx, object: Omit<StoredObject, 'etag'>, before: StoredObject | null): Promise<void> {
    const { bucketId, key, ...content } = object;
    if (!before) {
      await tx.manager.insert(StoredObject, object);
      return;
    }
    await tx.manager
      .createQueryBuilder()
      .update(StoredObject)
      .set(content)
      .where('bucket_id = :bucketId AND object_key = :key', { bucketId, key })
      .execute();
    await this.discard(tx, before.blobId, { whole: true });
  }

  async remove(tx: Tx, { bucketId, key, blobId }: StoredObject): Promise<void> {
    await tx.manager
      .createQueryBuilder()
      .delete()
      .from(StoredObject)
      .where('bucket_id = :bucketId AND object_key = :key', { bucketId, key })
      .execute();
    await this.discard(tx, blobId, { whole: true });
  }

  /** Ends an upload and the room it holds. False when it was given up meanwhile. */
  async endUpload(tx: Tx, blobId: string): Promise<boolean> {
    const { affected } = await tx.manager.delete(ObjectUpload, { blobId });
    return affected === 1;
  }

  async discard(tx: Tx, blobId: string, { whole }: { whole: boolean }): Promise<void> {
    await tx.manager.insert(DiscardedBlob, { blobId, discardedAt: new Date(), whole });
  }
}
