import { Injectable } from '@nestjs/common';
import {
  DatabaseHostError,
  type DatabaseSession,
  type SessionOptions,
} from '../../drivers/database-host/database-host.js';
import { DomainError, stateConflict, unavailable } from '../../platform/errors/domain-error.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { USABLE } from './database-status.js';
import { DatabaseRepository, type PlacedDatabase } from './database.repository.js';
import { HostLinks } from './lifecycle/host-links.js';
import { QuerySlots, tooManyQueries } from './query-slots.js';

export const MAX_ROWS = 10_000;
export const MAX_BYTES = 8 * 1_048_576;

type Wanted = Pick<SessionOptions, 'timeoutMs' | 'breakable'>;

/**
 * Runs tenants' own statements, each request in a session of its own. What they change is the tenant's and nobody else's:
 * the account they run under may do no more.
 */
@Injectable()
export class StatementsReader {
  constructor(
    private readonly databases: DatabaseRepository,
    private readonly links: HostLinks,
    private readonly slots: QuerySlots,
    private readonly log: AppLogger,
  ) {}

  /** `audit` is written while the session is made; nothing is run before both have succeeded. */
  async inSession<T>(
    placed: PlacedDatabase,
    wanted: Wanted,
    audit: () => Promise<void>,
    work: (session: DatabaseSession) => Promise<T>,
  ): Promise<T> {
    const { status } = placed.database;
    if (!USABLE.includes(status)) throw stateConflict('query', status);
    return this.slots.holding(placed, async () => {
      let session: DatabaseSession | undefined;
      try {
        const [opened, audited] = await Promise.allSettled([this.open(placed, wanted), audit()]);
        if (opened.status === 'fulfilled') session = opened.value;
        if (audited.status === 'rejected') throw audited.reason;
        if (opened.status === 'rejected') throw opened.reason;
        return await work(opened.value);
      } catch (error) {
        throw await this.told(error, placed);
      } finally {
        await session?.close();
      }
    });
  }

  /**
   * A tenant may have set the password of the platform's account, or dropped the schema: both are put right once. Sessions that
   * were made with that password end, whoever made them.
   */
  private async open({ database, host }: PlacedDatabase, wanted: Wanted): Promise<DatabaseSession> {
    const link = this.links.to(host);
    const { schema, platform } = this.links.forPlatform(database);
    const options = { account: platform, schema, ...wanted, maxRows: MAX_ROWS, maxBytes: MAX_BYTES };
    try {
      return await link.open(options);
    } catch (error) {
      const { code } = error as DatabaseHostError;
      if (code === 'denied') await link.setPassword(platform);
      else if (code === 'no_schema') await link.restoreSchema(schema);
      else throw error;
      this.log.warn({ databaseId: database.id, code }, 'a database was put right before a statement could run in it');
      return link.open(options);
    }
  }

  private async told(error: unknown, { accountId, database }: PlacedDatabase): Promise<unknown> {
    if (!(error instanceof DatabaseHostError)) return error;
    if (error.code === 'timeout')
      return new DomainError('bad_request', 'query_timeout', 'The time for the statement was up.');
    if (error.code === 'too_much') {
      return new DomainError('bad_request', 'result_too_large', 'The statement answers more than can be passed on.');
    }
    if (error.code === 'busy') return tooManyQueries();
    // Its session ends when a service is deleted; then there is nothing to be tried again.
    await this.databases.findOwned(accountId, { id: database.id });
    return unavailable('database_host', error);
  }
}
