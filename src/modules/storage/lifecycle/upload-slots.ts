import { Injectable } from '@nestjs/common';
import { UnderWay } from '../../../platform/batching/under-way.js';
import { DomainError } from '../../../platform/errors/domain-error.js';

const PER_ACCOUNT = 32;
const PER_PROCESS = 256;

/** How many objects are taken in at once: what has come of each and is not in the store yet is in memory. */
@Injectable()
export class UploadSlots {
  private readonly underWay = new UnderWay();

  /** Throws 429 when the account, or everybody, has enough of them under way. */
  async uploading<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const { underWay } = this;
    if (underWay.of(accountId) >= PER_ACCOUNT || underWay.total >= PER_PROCESS) {
      throw new DomainError('rate_limited', 'too_many_uploads', 'Too many uploads are under way at once.', {
        retryAfterSeconds: 10,
      });
    }
    return underWay.during(accountId, work);
  }
}
