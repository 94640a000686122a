import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { badField, notFound } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { decodeCursor, encodeCursor } from '../../../platform/http/page.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import { BucketRepository } from '../buckets/bucket.repository.js';
import { objectEntry, objectView, type ListObjectsQuery, type ObjectList, type ObjectView } from '../dto/object.dto.js';
import { mustHold } from './object-conditions.js';
import { judgeKey } from './object-key.js';
import { listPage, type Position } from './object-listing.js';
import { ObjectRepository } from './object.repository.js';
import type { StoredObject } from './stored-object.entity.js';

/** Finding, listing and deleting objects. */
@Injectable()
export class ObjectsService {
  constructor(
    private readonly database: Database,
    private readonly buckets: BucketRepository,
    private readonly objects: ObjectRepository,
    private readonly quota: QuotaLock,
    private readonly events: EventRecorder,
  ) {}

  async list(caller: Principal, bucketId: string, query: ListObjectsQuery): Promise<ObjectList> {
    const { prefix = '', delimiter, limit, cursor } = query;
    const after = cursor === undefined ? null : positionOf(cursor);
    await this.buckets.findOwned(this.database, caller.accountId, bucketId);
    const { objects, prefixes, end } = await listPage((range, count) => this.objects.range(bucketId, range, count), {
      prefix: Buffer.from(prefix),
      delimiter: delimiter === undefined ? null : Buffer.from(delimiter),
      limit,
      after,
    });
    return { objects: objects.map(objectEntry), prefixes, nextCursor: end && cursorOf(end) };
  }

  async get(caller: Principal, bucketId: string, key: string): Promise<ObjectView> {
    return objectView(await this.find(caller, bucketId, key));
  }

  async find(caller: Principal, bucketId: string, key: string): Promise<StoredObject> {
    await this.buckets.findOwned(this.database, caller.accountId, bucketId);
    const object = await this.objects.find(this.database, bucketId, Buffer.from(key));
    if (!object) throw notFound();
    return object;
  }

  /** `headers` hold the conditions. */
  async delete(caller: Principal, bucketId: string, key: string, headers: IncomingHttpHeaders): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.quota.acquire(tx, caller.accountId);
      const { accountId } = await this.buckets.lockOwned(tx, caller.accountId, bucketId);
      const object = await this.objects.find(tx, bucketId, Buffer.from(key));
      if (!object) throw notFound();
      mustHold('DELETE', headers, object);
      await this.objects.remove(tx, object);
      await this.buckets.count(tx, bucketId, -1, -object.size);
      const properties = { key, size: object.size };
      const event = 'bucket:object.delete';
      await this.events.record(tx, { accountId, resourceId: bucketId, event, properties, ...actorOf(caller) });
    });
  }
}

const KINDS = ['key', 'prefix'] as const;

function cursorOf(end: Position): string {
  const [kind, bytes] = 'key' in end ? [0, end.key] : [1, end.prefix];
  return encodeCursor([kind, bytes.toString('utf8')]);
}

function positionOf(cursor: string): Position {
  const [kind, text] = decodeCursor(cursor, ['number', 'string']) as [number, string];
  const name = KINDS[kind];
  if (name === undefined || judgeKey(text) !== undefined) {
    throw badField('cursor', 'invalid_cursor', 'cursor is not one that this list gave.');
  }
  const bytes = Buffer.from(text);
  return name === 'key' ? { key: bytes } : { prefix: bytes };
}
