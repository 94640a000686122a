import { Injectable } from '@nestjs/common';
import pLimit, { type LimitFunction } from 'p-limit';
import { DomainError } from '../../../platform/errors/domain-error.js';

const SCANS_PER_ACCOUNT = 2;
const SCANS_PER_PROCESS = 10;
const REQUESTS_PER_HOST = 4;

/** How much is asked of sites at once, by all scans of this process together. */
@Injectable()
export class ScanSlots {
  private readonly scans = new Map<string, number>();
  private readonly hosts = new Map<string, LimitFunction>();
  private total = 0;

  /** Throws 429 when the account, or everybody, has enough scans under way. */
  async scanning<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const mine = this.scans.get(accountId) ?? 0;
    if (mine >= SCANS_PER_ACCOUNT || this.total >= SCANS_PER_PROCESS) {
      throw new DomainError('rate_limited', 'too_many_scans', 'Too many scans are under way at once.', {
        retryAfterSeconds: 10,
      });
    }
    this.scans.set(accountId, mine + 1);
    this.total++;
    try {
      return await work();
    } finally {
      const left = this.scans.get(accountId)! - 1;
      if (left > 0) this.scans.set(accountId, left);
      else this.scans.delete(accountId);
      this.total--;
    }
  }

  /** Waits until the host is asked for little enough. */
  async asking<T>(host: string, work: () => Promise<T>): Promise<T> {
    let limit = this.hosts.get(host);
    if (!limit) this.hosts.set(host, (limit = pLimit(REQUESTS_PER_HOST)));
    try {
      return await limit(work);
    } finally {
      if (limit.activeCount === 0 && limit.pendingCount === 0) this.hosts.delete(host);
    }
  }
}
