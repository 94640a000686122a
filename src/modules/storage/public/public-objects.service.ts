import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Batcher } from '../../../platform/batching/batcher.js';
import { Database } from '../../../platform/database/database.js';
import { StoredObject } from '../objects/stored-object.entity.js';

export interface PublicAddress {
  bucketId: string;
  key: Buffer;
  /** Tells it from all others. */
  name: string;
}

export function publicAddress(bucketId: string, key: Buffer): PublicAddress {
  return { bucketId, key, name: nameOf({ bucketId, key }) };
}

/** An object as it was at a revision of its bucket. */
interface Known {
  object: StoredObject;
  revision: string;
}

type Found = Map<string, StoredObject>;

type Row = Omit<StoredObject, 'etag' | 'size'> & { size: unknown; revision: unknown };

const COLUMNS = `
  o.bucket_id AS bucketId, o.object_key AS \`key\`, o.blob_id AS blobId, o.size, o.content_type AS contentType,
  o.sha256, o.modified_at AS modifiedAt, b.revision`;
const OF_ACTIVE = "JOIN accounts a ON a.id = b.account_id AND a.status = 'active'";
const IS_OPEN = 'b.is_public = 1 AND b.deleted_at IS NULL';
/** Few queries at once, each for many: what comes while they are under way waits for the next. */
const LIMITS = { items: 128, atOnce: 4 };
const KEPT_BYTES = 32 * 1024 * 1024;
/** What one that is kept takes beside its key. */
const KEPT_BESIDE_KEY = 1024;
const KEPT_REVISIONS = 10_000;

/**
 * Finds what anybody may read: objects of buckets that are public, of accounts that are not suspended. What was found before
 * is believed only at the revision of its bucket that it was read at, and that is asked for each time, so that every change
 * takes effect at once. What is asked for at the same moment shares a query.
 */
@Injectable()
export class PublicObjects {
  private readonly lookUps = new Batcher<PublicAddress, StoredObject | null>((batch) => this.ask(batch), LIMITS);
  private readonly known = new LRUCache<string, Known>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (_, name) => name.length + KEPT_BESIDE_KEY,
  });

  /** Of each bucket the last that was told of: what is known as of another need not be asked about. */
  private readonly revisions = new LRUCache<string, string>({ max: KEPT_REVISIONS });

  constructor(private readonly database: Database) {}

  find(address: PublicAddress): Promise<StoredObject | null> {
    return this.lookUps.add(address);
  }

  /** What was found last, if it is still in memory: nobody may be told of it before it is found again. */
  foundLast({ name }: PublicAddress): StoredObject | undefined {
    return this.known.peek(name)?.object;
  }

  private async ask(batch: PublicAddress[]): Promise<(StoredObject | null)[]> {
    const known = new Map<PublicAddress, Known>();
    const unknown: PublicAddress[] = [];
    for (const address of batch) {
      const before = this.known.get(address.name);
      if (before && before.revision === this.revisions.get(address.bucketId)) known.set(address, before);
      else unknown.push(address);
    }
    const [again, first] = await Promise.all([this.readAgain(known), this.read(unknown)]);
    return batch.map(({ name }) => again.get(name) ?? first.get(name) ?? null);
  }

  /** What is known is read anew only where its bucket has another revision now. */
  private async readAgain(known: ReadonlyMap<PublicAddress, Known>): Promise<Found> {
    if (known.size === 0) return new Map();
    const revisions = await this.revisionsOf([...known.keys()]);
    const found: Found = new Map();
    const changed: PublicAddress[] = [];
    for (const [address, { object, revision }] of known) {
      const now = revisions.get(address.bucketId);
      if (now === revision) found.set(address.name, object);
      else if (now !== undefined) changed.push(address);
      else this.known.delete(address.name);
    }
    for (const [name, object] of await this.read(changed)) found.set(name, object);
    return found;
  }

  /** Of those buckets that are open. */
  private async revisionsOf(batch: PublicAddress[]): Promise<Map<string, string>> {
    const rows = await this.database.manager.query<{ id: string; revision: unknown }[]>(
      `SELECT b.id, b.revision FROM buckets b ${OF_ACTIVE} WHERE ${IS_OPEN} AND b.id IN (?)`,
      [[...new Set(batch.map(({ bucketId }) => bucketId))]],
    );
    const revisions = new Map(rows.map(({ id, revision }) => [id, String(revision)]));
    for (const [id, revision] of revisions) this.revisions.set(id, revision);
    return revisions;
  }

  private async read(batch: PublicAddress[]): Promise<Found> {
    if (batch.length === 0) return new Map();
    const wanted = Map.groupBy(batch, ({ bucketId }) => bucketId);
    const each = [...wanted].map(() => '(o.bucket_id = ? AND o.object_key IN (?))').join(' OR ');
    const rows = await this.database.manager.query<Row[]>(
      `SELECT ${COLUMNS} FROM bucket_objects o JOIN buckets b ON b.id = o.bucket_id ${OF_ACTIVE}
        WHERE ${IS_OPEN} AND (${each})`,
      [...wanted].flatMap(([bucketId, addresses]) => [bucketId, addresses.map(({ key }) => key)]),
    );
    const found: Found = new Map();
    for (const { revision, size, ...row } of rows) {
      const object = Object.assign(new StoredObject(), row, { size: Number(size) });
      const name = nameOf(object);
      found.set(name, object);
      this.known.set(name, { object, revision: String(revision) });
      this.revisions.set(object.bucketId, String(revision));
    }
    for (const { name } of batch) if (!found.has(name)) this.known.delete(name);
    return found;
  }
}

function nameOf({ bucketId, key }: Pick<PublicAddress, 'bucketId' | 'key'>): string {
  return `${bucketId}/${key.toString('latin1')}`;
}
