import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { DatabaseHostError, type DatabaseHost } from '../../drivers/database-host/database-host.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../platform/events/event-recorder.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { namesOf } from './database-names.js';
import { USABLE, type DatabaseStatus } from './database-status.js';
import { DatabaseRepository } from './database.repository.js';
import { RegisteredHost } from './hosts/registered-host.entity.js';
import { HostLinks } from './lifecycle/host-links.js';
import { HostRegistration } from './lifecycle/host-registration.js';
import { ServiceDatabase } from './service-database.entity.js';

const INTERVAL_MS = 60_000;
const FIRST_MS = 1000;
const LOCK = 'berth:keep-databases';
const MEBIBYTE = 1_048_576;
/** One that was full may grow again below this part of the limit, so that it does not change with every row. */
const RELIEVED = 0.95;

/** Looks at every host in turn: whether it is as it must be, and how large the databases on it are. */
@Injectable()
export class DatabaseKeeperWorker extends RecurringWorker {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly databases: DatabaseRepository,
    private readonly registration: HostRegistration,
    private readonly links: HostLinks,
    private readonly events: EventRecorder,
    log: AppLogger,
  ) {
    super({ what: 'look at the database hosts', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
  }

  protected turn(): Promise<void> {
    return this.database.exclusively(LOCK, () => this.pass());
  }

  async pass(): Promise<void> {
    for (const host of await this.databases.hosts()) {
      if (this.stopped) return;
      // One that cannot be looked at must not keep the others from their limits.
      await this.attempt({ host: host.name }, () => this.look(host));
    }
  }

  private async look(host: RegisteredHost): Promise<void> {
    const fault = await this.registration.inspect(host);
    if (fault !== null) this.log.error({ host: host.name, fault }, 'nothing is put on this database host');
    // What is there already may grow no more than elsewhere.
    await this.measure(host);
  }

  private async measure(host: RegisteredHost): Promise<void> {
    const link = this.links.to(host);
    const sizes = await link.sizes();
    for (const database of await this.databases.onHost(host.id)) {
      if (!USABLE.includes(database.status)) continue;
      await this.attempt({ host: host.name, databaseId: database.id }, async () => {
        const { schema } = namesOf(database.id);
        const bytes = sizes.get(schema);
        // Its owner may drop it, and has it again, empty.
        if (bytes !== undefined || (await this.restored(link, schema))) await this.apply(host, database, bytes ?? 0);
      });
    }
  }

  private async attempt(what: object, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.log.warn({ ...what, err: error }, 'could not be kept within its limits this time');
    }
  }

  /** False when it is being removed with its service. */
  private async restored(link: DatabaseHost, schema: string): Promise<boolean> {
    try {
      await link.restoreSchema(schema);
      return true;
    } catch (error) {
      if (error instanceof DatabaseHostError && error.code === 'no_schema') return false;
      throw error;
    }
  }

  /** There is no limit for a schema in the server: one that is over it loses the rights to grow. */
  private async apply(host: RegisteredHost, database: ServiceDatabase, sizeBytes: number): Promise<void> {
    const { id, serverId } = database;
    const limit = this.config.databaseSizeLimitMb * MEBIBYTE;
    const full = sizeBytes > (database.status === 'FULL' ? limit * RELIEVED : limit);
    const status: DatabaseStatus = full ? 'FULL' : 'READY';
    if (status !== database.status) {
      const { schema, program, platform } = namesOf(id);
      await this.links.to(host).setGrowth({ schema, users: [program, platform] }, !full);
    }
    await this.database.transaction(async (tx) => {
      const { affected } = await tx.manager.update(
        ServiceDatabase,
        { id, status: database.status },
        { status, sizeBytes },
      );
      if (affected !== 1 || status === database.status) return;
      const [server] = await tx.manager.query<{ accountId: string }[]>(
        'SELECT account_id AS accountId FROM servers WHERE id = ?',
        [serverId],
      );
      const event = full ? 'server:database.full' : 'server:database.relieved';
      const properties = { sizeBytes, limitBytes: limit };
      await this.events.record(tx, {
        accountId: server!.accountId,
        resourceId: serverId,
        event,
        properties,
        ...SYSTEM,
      });
    });
  }
}
