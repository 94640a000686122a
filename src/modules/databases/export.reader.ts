import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { pipeline } from 'node:stream/promises';
import { DatabaseHostError } from '../../drivers/database-host/database-host.js';
import type { Principal } from '../../platform/auth/principal.js';
import { stateConflict, unavailable } from '../../platform/errors/domain-error.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { DatabaseEvents } from './database-events.service.js';
import { namesOf } from './database-names.js';
import { USABLE } from './database-status.js';
import { DatabaseRepository } from './database.repository.js';
import { HostLinks } from './lifecycle/host-links.js';
import { QuerySlots } from './query-slots.js';

export const DUMP_TYPE = 'application/sql';
const LONGEST_MS = 600_000;

/** Sends a whole database as SQL text, as fast as it is taken. */
@Injectable()
export class ExportReader {
  constructor(
    private readonly databases: DatabaseRepository,
    private readonly links: HostLinks,
    private readonly slots: QuerySlots,
    private readonly events: DatabaseEvents,
    private readonly log: AppLogger,
  ) {}

  async send(caller: Principal, id: string, response: Response): Promise<void> {
    const placed = await this.databases.findOwned(caller.accountId, { id });
    const { database, host } = placed;
    if (!USABLE.includes(database.status)) throw stateConflict('export', database.status);
    const { schema } = namesOf(id);
    await this.slots.holding(id, async () => {
      const dump = await this.links.to(host).dump(schema).catch(away);
      try {
        await this.events.record(caller, placed, 'server:database.export', {});
        response.status(200).set({
          'Content-Type': DUMP_TYPE,
          'Content-Disposition': `attachment; filename="${schema}.sql"`,
        });
        await pipeline(dump, response, { signal: AbortSignal.timeout(LONGEST_MS) });
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
  throw error instanceof DatabaseHostError ? unavailable('database_host', error) : error;
}
