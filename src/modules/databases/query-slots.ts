import { Injectable } from '@nestjs/common';
import { UnderWay } from '../../platform/batching/under-way.js';
import { DomainError } from '../../platform/errors/domain-error.js';
import type { PlacedDatabase } from './database.repository.js';

const PER_DATABASE = 2;
/** An account may have many databases, and its statements may take minutes. */
const PER_ACCOUNT = 4;
const PER_PROCESS = 10;

/** How many requests may have sessions on hosts at once: a process's own, so the host counts for all of them together. */
@Injectable()
export class QuerySlots {
  private readonly byDatabase = new UnderWay();
  private readonly byAccount = new UnderWay();

  async holding<T>(
    { accountId, database: { id } }: Pick<PlacedDatabase, 'accountId' | 'database'>,
    work: () => Promise<T>,
  ): Promise<T> {
    const { byDatabase, byAccount } = this;
    const full = byDatabase.of(id) >= PER_DATABASE || byAccount.of(accountId) >= PER_ACCOUNT;
    if (full || byDatabase.total >= PER_PROCESS) throw tooManyQueries();
    return byAccount.during(accountId, () => byDatabase.during(id, work));
  }
}

export function tooManyQueries(): DomainError {
  return new DomainError('rate_limited', 'too_many_queries', 'Too many statements are being run at once.', {
    retryAfterSeconds: 1,
  });
}
