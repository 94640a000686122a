import { Injectable } from '@nestjs/common';
import { DomainError } from '../../platform/errors/domain-error.js';

const PER_DATABASE = 2;
const PER_PROCESS = 10;

/** How many requests may have sessions on hosts at once: a process's own, so the host counts for all of them together. */
@Injectable()
export class QuerySlots {
  private readonly taken = new Map<string, number>();
  private total = 0;

  async holding<T>(databaseId: string, work: () => Promise<T>): Promise<T> {
    const mine = this.taken.get(databaseId) ?? 0;
    if (mine >= PER_DATABASE || this.total >= PER_PROCESS) throw tooManyQueries();
    this.taken.set(databaseId, mine + 1);
    this.total++;
    try {
      return await work();
    } finally {
      const left = this.taken.get(databaseId)! - 1;
      if (left > 0) this.taken.set(databaseId, left);
      else this.taken.delete(databaseId);
      this.total--;
    }
  }
}

export function tooManyQueries(): DomainError {
  return new DomainError('rate_limited', 'too_many_queries', 'Too many statements are being run at once.', {
    retryAfterSeconds: 1,
  });
}
