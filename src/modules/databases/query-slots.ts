import { Injectable } from '@nestjs/common';
import { UnderWay } from '../../platform/batching/under-way.js';
import { DomainError } from '../../platform/errors/domain-error.js';

const PER_DATABASE = 2;
const PER_PROCESS = 10;

/** How many requests may have sessions on hosts at once: a process's own, so the host counts for all of them together. */
@Injectable()
export class QuerySlots {
  private readonly underWay = new UnderWay();

  async holding<T>(databaseId: string, work: () => Promise<T>): Promise<T> {
    const { underWay } = this;
    if (underWay.of(databaseId) >= PER_DATABASE || underWay.total >= PER_PROCESS) throw tooManyQueries();
    return underWay.during(databaseId, work);
  }
}

export function tooManyQueries(): DomainError {
  return new DomainError('rate_limited', 'too_many_queries', 'Too many statements are being run at once.', {
    retryAfterSeconds: 1,
  });
}
