import { Injectable } from '@nestjs/common';
import { BlobStore } from '../../../drivers/objects/blob-store.js';
import { UnderWay } from '../../../platform/batching/under-way.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { MemoryRoom } from '../../../platform/http/memory-room.js';

const PER_ACCOUNT = 32;
const PER_PROCESS = 256;
const MIB = 1024 * 1024;

/** How many objects are taken in at once: what has come of each and is not in the store yet is in memory. */
@Injectable()
export class UploadSlots {
  private readonly underWay = new UnderWay();
  private readonly room = new MemoryRoom({ ofOne: 64 * MIB, ofAll: 256 * MIB });

  constructor(private readonly blobs: BlobStore) {}

  /** Throws 429 when the account, or everybody, has enough of them under way. `size` is undefined where it is not told. */
  async uploading<T>(accountId: string, size: number | undefined, work: () => Promise<T>): Promise<T> {
    const { underWay } = this;
    if (underWay.of(accountId) >= PER_ACCOUNT || underWay.total >= PER_PROCESS) throw tooMany();
    const give = this.room.take(accountId, this.blobs.memoryOf(size), tooMany);
    return underWay.during(accountId, work).finally(give);
  }
}

function tooMany(): DomainError {
  return new DomainError('rate_limited', 'too_many_uploads', 'Too many uploads are under way at once.', {
    retryAfterSeconds: 10,
  });
}
