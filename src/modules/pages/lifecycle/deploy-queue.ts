import { Injectable } from '@nestjs/common';
import { FairSlots } from '../../../platform/batching/fair-slots.js';
import { UnderWay } from '../../../platform/batching/under-way.js';
import { DomainError } from '../../../platform/errors/domain-error.js';

/** More at once would only slow each other down, and whatever else runs here. */
const PACKED_AT_ONCE = 2;
/** As many as the largest plan has sites. Each of them holds an archive on the disk. */
const DEPLOYS_PER_ACCOUNT = 20;

/** How many deploy at once in this process, so that no account holds up the others. */
@Injectable()
export class DeployQueue {
  private readonly slots = new FairSlots(PACKED_AT_ONCE);
  private readonly underWay = new UnderWay();

  /** Throws 429 when the account has enough of them under way, whether they are received, wait or are packed. */
  async deploying<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    if (this.underWay.of(accountId) >= DEPLOYS_PER_ACCOUNT) {
      throw new DomainError('rate_limited', 'too_many_deploys', 'Too many deploys are under way at once.', {
        retryAfterSeconds: 10,
      });
    }
    return this.underWay.during(accountId, work);
  }

  /** Waits for the account's turn; one archive of an account is packed at a time. */
  packing<T>(accountId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.slots.run(accountId, signal, work);
  }
}
