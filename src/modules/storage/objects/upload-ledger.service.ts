import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../../../platform/auth/principal.js';
import { Turns } from '../../../platform/batching/turns.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { type DomainError, quotaExceeded, unavailable } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import { BucketRepository } from '../buckets/bucket.repository.js';
import { mustHold } from './object-conditions.js';
import { ObjectUpload } from './object-upload.entity.js';
import { ObjectRepository } from './object.repository.js';
import { StoredObject } from './stored-object.entity.js';

/** Room for a body whose size nobody knows is taken in steps of so much. */
const STEP_BYTES = 8 * 1024 * 1024;

/** An account's transactions at once: while one is brought to the disk the next ones have the lock. */
const LANES = 4;

/** What is to be put where; `headers` hold the conditions. */
export interface UploadTarget {
  caller: Principal;
  bucketId: string;
  key: Buffer;
  headers: IncomingHttpHeaders;
}

export interface Upload extends UploadTarget {
  blobId: string;
  /** How large the object may become without asking for more. */
  room: number;
}

export interface Content {
  size: number;
  contentType: string;
  sha256: string;
}

/**
 * The rows behind an upload: room is kept for it before its first byte is read, so that uploads at the same time cannot
 * together take more than there is, and it becomes the object in one transaction. All of them hold the account's lock.
 */
@Injectable()
export class UploadLedger {
  private readonly turns = new Turns();
  private calls = 0;

  constructor(
    private readonly database: Database,
    private readonly buckets: BucketRepository,
    private readonly objects: ObjectRepository,
    private readonly quota: QuotaLock,
    private readonly events: EventRecorder,
  ) {}

  async begin(target: UploadTarget, blobId: string, size: number | undefined): Promise<Upload> {
    const { caller, bucketId, key } = target;
    const { accountId } = caller;
    return this.inTurn(accountId, async (tx) => {
      const { storageBytes: allowed } = await this.quota.acquire(tx, accountId);
      await this.buckets.findOwned(tx, accountId, bucketId);
      const before = await this.objects.find(tx, bucketId, key);
      mustHold('PUT', target.headers, before);
      // What is replaced makes room for what replaces it, once: of several that are under way only one will take its place.
      const taken = before && (await tx.manager.existsBy(ObjectUpload, { replacesBlobId: before.blobId }));
      const replaces = taken ? null : before;
      const replaced = replaces?.size ?? 0;
      const reservedBytes = await this.take(
        tx,
        accountId,
        allowed,
        Math.max(0, (size ?? 0) - replaced),
        size === undefined,
      );
      const replacesBlobId = replaces?.blobId ?? null;
      await tx.manager.insert(ObjectUpload, {
        blobId,
        accountId,
        bucketId,
        reservedBytes,
        replacesBlobId,
        seenAt: new Date(),
      });
      return { ...target, blobId, room: Math.max(size ?? 0, replaced + reservedBytes) };
    });
  }

  /** Makes room for an object of `size` bytes at least. */
  async extend(upload: Upload, size: number): Promise<void> {
    const { blobId, caller, room } = upload;
    const more = await this.inTurn(caller.accountId, async (tx) => {
      const { storageBytes: allowed } = await this.quota.acquire(tx, caller.accountId);
      const taken = await this.take(tx, caller.accountId, allowed, size - room, true);
      const sql = 'UPDATE object_uploads SET reserved_bytes = reserved_bytes + ? WHERE blob_id = ?';
      const { affectedRows } = await tx.manager.query<{ affectedRows: number }>(sql, [taken, blobId]);
      if (affectedRows !== 1) throw givenUp();
      return taken;
    });
    upload.room = room + more;
  }

  /** A sign of life. False when it came too late. */
  async touch({ blobId }: Upload): Promise<boolean> {
    const { affected } = await this.database.manager.update(ObjectUpload, { blobId }, { seenAt: new Date() });
    return affected === 1;
  }

  /** Makes what was written the object under the key: from this moment on, and not before. */
  async commit(upload: Upload, content: Content): Promise<{ object: StoredObject; isNew: boolean }> {
    const { blobId, bucketId, key, caller } = upload;
    const { accountId } = caller;
    return this.inTurn(accountId, async (tx) => {
      const { storageBytes: allowed } = await this.quota.acquire(tx, accountId);
      await this.buckets.lockOwned(tx, accountId, bucketId);
      if (!(await this.objects.endUpload(tx, blobId))) throw givenUp();
      const before = await this.objects.find(tx, bucketId, key);
      mustHold('PUT', upload.headers, before);
      const growth = content.size - (before?.size ?? 0);
      // Where what was to be replaced has gone meanwhile, more is needed than was kept.
      if (growth > 0) await this.take(tx, accountId, allowed, growth, false);
      const object = tx.manager.create(StoredObject, { bucketId, key, blobId, ...content, modifiedAt: new Date() });
      await this.objects.swap(tx, object, before);
      await this.buckets.count(tx, bucketId, before ? 0 : 1, growth);
      const properties = { key: key.toString('utf8'), size: content.size };
      const event = 'bucket:object.put';
      await this.events.record(tx, { accountId, resourceId: bucketId, event, properties, ...actorOf(caller) });
      return { object, isNew: before === null };
    });
  }

  /** Gives back the room and leaves the blob to be removed, unless it has become an object after all. */
  async abandon({ blobId }: Upload): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (await this.objects.endUpload(tx, blobId)) await this.objects.discard(tx, blobId, { whole: false });
    });
  }

  /** Most of those who would wait for the account's lock wait here first, where they take no connection from others. */
  private inTurn<T>(accountId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const lane = this.calls++ % LANES;
    return this.turns.take(`${accountId} ${lane}`, () => this.database.transaction(work));
  }

  /** How much may be kept: what is needed, and where it helps up to a step as far as there is room. Over the quota it is a 403. */
  private async take(tx: Tx, accountId: string, allowed: number, needed: number, inSteps: boolean): Promise<number> {
    const { bytes, reserved } = await this.buckets.use(tx, accountId);
    const used = bytes + reserved;
    if (needed > 0 && used + needed > allowed) {
      throw quotaExceeded({ name: 'storageBytes', allowed, used, requested: needed });
    }
    return inSteps ? Math.max(needed, Math.min(STEP_BYTES, allowed - used)) : needed;
  }
}

function givenUp(): DomainError {
  return unavailable('upload', new Error('the upload was given up for want of a sign of life'));
}
