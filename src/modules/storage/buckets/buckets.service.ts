import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, isDuplicate, type Tx } from '../../../platform/database/database.js';
import { conflict, quotaExceeded } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import { newId } from '../../../platform/ids/id.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import { bucketView, type BucketView, type CreateBucketDto, type StorageSummary } from '../dto/bucket.dto.js';
import { Bucket } from './bucket.entity.js';
import { BucketRepository } from './bucket.repository.js';

/** Making, showing, opening, closing and deleting buckets. */
@Injectable()
export class BucketsService {
  constructor(
    private readonly database: Database,
    private readonly buckets: BucketRepository,
    private readonly quota: QuotaLock,
    private readonly events: EventRecorder,
    private readonly config: Config,
  ) {}

  async summary({ accountId }: Principal): Promise<StorageSummary> {
    const [limits, use] = await Promise.all([
      this.quota.peek(this.database, accountId),
      this.buckets.use(this.database, accountId),
    ]);
    const { bytes, objects, buckets } = use;
    return { usedBytes: bytes, limitBytes: limits.storageBytes, objects, buckets };
  }

  async list({ accountId }: Principal, { limit, cursor }: PageQuery): Promise<Page<BucketView>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.buckets.list(accountId, limit + 1, before);
    return Page.of(rows, limit, ({ id }) => [id]).map((bucket) => this.view(bucket));
  }

  async create(caller: Principal, { name, isPublic = false }: CreateBucketDto): Promise<BucketView> {
    const { accountId } = caller;
    return this.database.transaction(async (tx) => {
      const limits = await this.quota.acquire(tx, accountId);
      const { buckets: used } = await this.buckets.use(tx, accountId);
      if (used >= limits.buckets) {
        throw quotaExceeded({ name: 'buckets', allowed: limits.buckets, used, requested: 1 });
      }
      const now = new Date();
      const empty = { objects: 0, usedBytes: 0, revision: 0 };
      const fresh = { name, isPublic, ...empty, createdAt: now, updatedAt: now, deletedAt: null };
      const bucket = tx.manager.create(Bucket, { id: newId('bkt'), accountId, ...fresh });
      try {
        await tx.manager.insert(Bucket, bucket);
      } catch (error) {
        if (isDuplicate(error, 'uq_buckets_name')) {
          throw conflict('bucket_name_taken', 'The account has a bucket of that name.');
        }
        throw error;
      }
      await this.record(tx, caller, bucket, 'bucket:create', { isPublic });
      return this.view(bucket);
    });
  }

  async setPublic(caller: Principal, id: string, isPublic: boolean): Promise<BucketView> {
    return this.database.transaction(async (tx) => {
      const bucket = await this.buckets.lockOwned(tx, caller.accountId, id);
      if (bucket.isPublic === isPublic) return this.view(bucket);
      const changes = { isPublic, updatedAt: new Date() };
      await tx.manager.update(Bucket, { id }, changes);
      await this.record(tx, caller, bucket, 'bucket:update', { isPublic });
      return this.view({ ...bucket, ...changes });
    });
  }

  /** Gone at once with all it holds, and so is what it took of the quota; the bytes follow in the background. */
  async delete(caller: Principal, id: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      // Whoever adds to it holds the account first as well.
      await this.quota.acquire(tx, caller.accountId);
      const bucket = await this.buckets.lockOwned(tx, caller.accountId, id);
      const now = new Date();
      await tx.manager.update(Bucket, { id }, { name: null, deletedAt: now, updatedAt: now });
      const { objects, usedBytes } = bucket;
      await this.record(tx, caller, bucket, 'bucket:delete', { objects, bytes: usedBytes });
    });
  }

  private view(bucket: Bucket): BucketView {
    return bucketView(bucket, this.config.cdnUrl);
  }

  private record(tx: Tx, caller: Principal, bucket: Bucket, event: string, more: object): Promise<void> {
    const { id: resourceId, accountId, name } = bucket;
    return this.events.record(tx, {
      accountId,
      resourceId,
      event,
      properties: { name, ...more },
      ...actorOf(caller),
    });
  }
}
