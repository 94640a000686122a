import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { namesOf } from './database-names.js';
import { DatabaseRepository } from './database.repository.js';
import { LONGEST_EXPORT_SECONDS } from './export.reader.js';
import { RegisteredHost } from './hosts/registered-host.entity.js';
import { HostLinks } from './lifecycle/host-links.js';

const INTERVAL_MS = 15_000;
/** Whoever runs a statement ends it itself in time; these are of processes that are no more. */
const GRACE_SECONDS = 10;
const PREPARED_MS = 60_000;

/** Ends what goes on in hosts for nobody: statements whose process died, and transactions that were prepared and left. */
@Injectable()
export class SessionReaperWorker extends RecurringWorker {
  /** When a prepared transaction was seen first, by host and name. */
  private readonly prepared = new Map<string, number>();

  constructor(
    private readonly config: Config,
    private readonly databases: DatabaseRepository,
    private readonly links: HostLinks,
    log: AppLogger,
  ) {
    super({ what: 'end of abandoned statements', everyMs: INTERVAL_MS }, log);
  }

  protected turn(): Promise<void> {
    return this.pass();
  }

  async pass(now = Date.now()): Promise<void> {
    for (const host of await this.databases.hosts()) {
      if (this.stopped) return;
      try {
        await this.endStatements(host);
        await this.rollBack(host, now);
      } catch (error) {
        this.log.warn(
          { err: error, host: host.name },
          'abandoned statements on a database host could not be looked for',
        );
      }
    }
  }

  private async endStatements(host: RegisteredHost): Promise<void> {
    const users = (await this.databases.onHost(host.id)).map(({ id }) => namesOf(id).platform);
    const { databaseQueryTimeoutSeconds, databaseImportTimeoutSeconds } = this.config;
    const longest = Math.max(databaseQueryTimeoutSeconds, databaseImportTimeoutSeconds, LONGEST_EXPORT_SECONDS);
    const seconds = longest + GRACE_SECONDS;
    const ended = await this.links.to(host).endLongStatements(users, seconds);
    if (ended > 0) this.log.warn({ host: host.name, ended }, 'statements were ended that nobody waited for');
  }

  /** They hold locks for ever, and everybody on the host sees their names. */
  private async rollBack(host: RegisteredHost, now: number): Promise<void> {
    const link = this.links.to(host);
    const names = await link.preparedTransactions();
    const present = new Set(names.map((name) => `${host.id} ${name}`));
    for (const key of this.prepared.keys()) {
      if (key.startsWith(`${host.id} `) && !present.has(key)) this.prepared.delete(key);
    }
    const left = names.filter((name) => {
      const key = `${host.id} ${name}`;
      const since = this.prepared.get(key) ?? now;
      this.prepared.set(key, since);
      return now - since >= PREPARED_MS;
    });
    if (left.length === 0) return;
    for (const [name, error] of await link.rollBackPrepared(left)) {
      this.log.warn({ err: error, host: host.name, name }, 'a prepared transaction could not be rolled back');
    }
  }
}
