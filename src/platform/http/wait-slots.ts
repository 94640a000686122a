import { Injectable } from '@nestjs/common';
import { UnderWay } from '../batching/under-way.js';

/** More than one who follows all of what it makes side by side. */
const PER_ACCOUNT = 32;
/** Each reads its state about once a second. */
const PER_PROCESS = 512;

/**
 * How many answers may be held back at once: each lasts a minute and reads its state all the while, so that no limit of
 * requests per minute bounds what they cost. One for all routes of a process.
 */
@Injectable()
export class WaitSlots {
  private readonly underWay = new UnderWay();

  /** Counts one more until the answer is called; null when there may be no more. */
  begin(accountId: string): (() => void) | null {
    const isFull = this.underWay.of(accountId) >= PER_ACCOUNT || this.underWay.total >= PER_PROCESS;
    return isFull ? null : this.underWay.begin(accountId);
  }
}
