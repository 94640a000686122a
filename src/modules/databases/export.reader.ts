import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { pipeline } from 'node:stream/promises';
import { DatabaseHostError } from '../../drivers/database-host/database-host.js';
import type { Principal } from '../../platform/auth/principal.js';
import { stateConflict, unavailable } from '../../platform/errors/domain-error.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { DatabaseEvents } from './database-events.service.js';
import { USABLE } from './database-status.js';
import { DatabaseRepository } from './database.repository.js';
import { HostLinks } from './lifecycle/host-links.js';
import { QuerySlots, tooManyQueries } from './query-slots.js';
import { StatementsReader } from './statements.reader.js';

export const DUMP_TYPE = 'application/sql';
export const LONGEST_EXPORT_SECONDS = 600;
/** For logging in, to which nothing is added. */
const SESSION_MS = 10_000;

/** Sends a whole database as SQL text, as fast as it is taken. */
@Injectable()
export class ExportReader {
  constructor(
    private readonly databases: DatabaseRepository,
    private readonly links: HostLinks,
    private readonly slots: QuerySlots,
    private readonly statements: StatementsReader,
    private readonly events: DatabaseEvents,
    private readonly log: AppLogger,
  ) {}

  async send(caller: Principal, id: string, response: Response): Promise<void> {
    const placed = await this.databases.findOwned(caller.accountId, { id });
    const { database, host } = placed;
    if (!USABLE.includes(database.status)) throw stateConflict('export', database.status);
    const { schema, platform } = this.links.forPlatform(database);
    // It is read as statements are run, so what keeps these from running is put right first.
    await this.statements.inSession(
      placed,
      { timeoutMs: SESSION_MS },
      async () => {},
      async () => {},
    );
    await this.slots.holding(placed, async () => {
      const dump = await this.links.to(host).dump(schema, platform).catch(away);
      try {
        await this.events.record(caller, placed, 'server:database.export', {});
        response.status(200).set({
          'Content-Type': DUMP_TYPE,
          'Content-Disposition': `attachment; filename="${schema}.sql"`,
        });
        await pipeline(dump, response, { signal: AbortSignal.timeout(LONGEST_EXPORT_SECONDS * 1000) });
      } catch (error) {
        if (!response.headersSent) throw error;
        // An answer that is cut short is all that can be told now. Whoever went away knows why it is.
        if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE')
          this.log.warn({ err: error, databaseId: id }, 'an export was cut short');
        response.destroy();
      } finally {
        dump.destroy();
      }
    });
  }
}

function away(error: unknown): never {
  if (!(error instanceof DatabaseHostError)) throw error;
  throw error.code === 'busy' ? tooManyQueries() : unavailable('database_host', error);
}
