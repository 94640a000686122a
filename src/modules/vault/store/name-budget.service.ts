import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { SlidingLogStorage } from '../../../platform/http/rate-limit.storage.js';

const WINDOW_MS = 3_600_000;
/** Of one account, an hour. */
const LIMIT = 2000;

/**
 * What an account may do in an hour that fills the read log's lists of names: new names, and lists never served before. One
 * new name of the account may make a list of each service, so both count, and when they are used up there are no new names.
 * Values can be replaced and secrets deleted all along: without new names that comes to an end by itself.
 */
@Injectable()
export class NameBudget {
  constructor(private readonly storage: SlidingLogStorage) {}

  /** For a new name; throws when there is nothing left. */
  async spend(accountId: string): Promise<void> {
    const { accepted, waitMs } = await this.hit(accountId);
    if (accepted) return;
    throw new DomainError(
      'rate_limited',
      'rate_limited',
      'Too many new names of secrets; existing ones can be replaced.',
      {
        retryAfterSeconds: waitMs / 1000,
      },
    );
  }

  /** For a list that was served; it may be more than was left. */
  note(accountId: string): void {
    void this.hit(accountId);
  }

  private hit(accountId: string): ReturnType<SlidingLogStorage['hit']> {
    return this.storage.hit(`rl:vault-names:${accountId}`, LIMIT, WINDOW_MS);
  }
}
