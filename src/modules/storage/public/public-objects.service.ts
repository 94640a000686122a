import { Injectable } from '@nestjs/common';
import { Batcher } from '../../../platform/batching/batcher.js';
import { Database } from '../../../platform/database/database.js';
import { StoredObject } from '../objects/stored-object.entity.js';

export interface PublicAddress {
  bucketId: string;
  key: Buffer;
}

type Row = Omit<StoredObject, 'etag' | 'size'> & { size: unknown };

const COLUMNS = `
  o.bucket_id AS bucketId, o.object_key AS \`key\`, o.blob_id AS blobId, o.size, o.content_type AS contentType,
  o.sha256, o.modified_at AS modifiedAt`;
/** Few queries at once, each for many: what comes while they are under way waits for the next. */
const LIMITS = { items: 128, atOnce: 4 };

/**
 * Finds what anybody may read: objects of buckets that are public, of accounts that are not suspended. Nothing is kept, so
 * that closing a bucket takes effect at once; what is asked for at the same moment shares a query.
 */
@Injectable()
export class PublicObjects {
  private readonly lookUps = new Batcher<PublicAddress, StoredObject | null>((batch) => this.ask(batch), LIMITS);

  constructor(private readonly database: Database) {}

  find(address: PublicAddress): Promise<StoredObject | null> {
    return this.lookUps.add(address);
  }

  private async ask(batch: PublicAddress[]): Promise<(StoredObject | null)[]> {
    const wanted = Map.groupBy(batch, ({ bucketId }) => bucketId);
    const each = [...wanted].map(() => '(o.bucket_id = ? AND o.object_key IN (?))').join(' OR ');
    const rows = await this.database.manager.query<Row[]>(
      `SELECT ${COLUMNS} FROM bucket_objects o
         JOIN buckets b ON b.id = o.bucket_id AND b.is_public = 1 AND b.deleted_at IS NULL
         JOIN accounts a ON a.id = b.account_id AND a.status = 'active'
        WHERE ${each}`,
      [...wanted].flatMap(([bucketId, addresses]) => [bucketId, addresses.map(({ key }) => key)]),
    );
    const found = new Map(rows.map((row) => [nameOf(row), objectOf(row)]));
    return batch.map((address) => found.get(nameOf(address)) ?? null);
  }
}

function nameOf({ bucketId, key }: PublicAddress): string {
  return `${bucketId}/${key.toString('latin1')}`;
}

function objectOf(row: Row): StoredObject {
  return Object.assign(new StoredObject(), row, { size: Number(row.size) });
}
