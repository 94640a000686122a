import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../../platform/database/database.js';
import { RecurringWorker } from '../../../platform/background/recurring-worker.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { NotificationsService } from '../../notifications/notifications.service.js';
import { ServerDirectory } from '../../servers/server-directory.service.js';
import { VaultSecret } from '../store/vault-secret.entity.js';
import { daysUntil, dueReminder, expiryWindow, type Reminder } from './reminder-days.js';

const INTERVAL_MS = 10_000;
const FIRST_MS = 2000;
const BATCH = 500;

const FLAGS = { week: 'weekReminded', day: 'dayReminded' } as const;

type Candidate = Pick<VaultSecret, 'id' | 'key' | 'version' | 'valueSetAt' | 'weekReminded' | 'dayReminded'> & {
  expiresAt: string;
  accountId: string;
  serverId: string | null;
};

/**
 * Reminds accounts of secrets that expire. The mark that it was done is set by a conditional write together with the message,
 * so that each is told once, however many workers look.
 */
@Injectable()
export class SecretReminderWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerDirectory,
    private readonly notifications: NotificationsService,
    log: AppLogger,
  ) {
    super({ what: 'look for expiring secrets', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
  }

  protected turn(): Promise<void> {
    return this.pass();
  }

  async pass(now = new Date()): Promise<void> {
    for (let after = ''; !this.stopped;) {
      const candidates = await this.candidates(now, after);
      for (const candidate of candidates) {
        const reminder = dueReminder(candidate, now);
        if (reminder) await this.remind(candidate, reminder, now);
      }
      if (candidates.length < BATCH) return;
      after = candidates.at(-1)!.id;
    }
  }

  private async candidates(now: Date, after: string): Promise<Candidate[]> {
    const { from, to } = expiryWindow(now);
    const rows = await this.database.manager.query<(Omit<Candidate, 'weekReminded' | 'dayReminded'> & Flags)[]>(
      `SELECT s.id, s.key_name AS \`key\`, s.version, s.expires_at AS expiresAt, s.value_set_at AS valueSetAt,
              s.week_reminded AS weekReminded, s.day_reminded AS dayReminded,
              sc.account_id AS accountId, sc.server_id AS serverId
         FROM vault_secrets s JOIN vault_scopes sc ON sc.scope = s.scope
        WHERE s.expires_at BETWEEN ? AND ? AND s.deleted_at IS NULL AND s.id > ?
          AND (s.week_reminded = 0 OR s.day_reminded = 0)
        ORDER BY s.id LIMIT ${BATCH}`,
      [from, to, after],
    );
    return rows.map((row) => ({ ...row, weekReminded: row.weekReminded === 1, dayReminded: row.dayReminded === 1 }));
  }

  private async remind(secret: Candidate, reminder: Reminder, now: Date): Promise<void> {
    const { id, key, version, expiresAt, valueSetAt, accountId, serverId } = secret;
    const name = serverId === null ? null : await this.servers.nameOf(serverId);
    const flag = FLAGS[reminder];
    const whose = serverId === null ? 'of your account' : `of your service "${name}" (${serverId})`;
    const text = `The secret ${key} ${whose} ${expiry(expiresAt, now)}. It is served until you replace or delete it.`;
    await this.database.transaction(async (tx: Tx) => {
      // Not if it was replaced, sealed or deleted meanwhile: then the next look judges what there is then.
      const as = { id, version, expiresAt, valueSetAt, [flag]: false };
      const marked = await tx.manager.update(VaultSecret, as, { [flag]: true });
      if (marked.affected !== 1) return;
      const resourceId = serverId ?? accountId;
      await this.notifications.notify(tx, { accountId, resourceId, kind: `vault.expiry.${reminder}`, text });
    });
  }
}

interface Flags {
  weekReminded: number;
  dayReminded: number;
}

function expiry(day: string, now: Date): string {
  const days = daysUntil(day, now);
  if (days > 0) return `expires on ${day}, in ${days} ${days === 1 ? 'day' : 'days'}`;
  return days === 0 ? `expires today, ${day}` : `expired on ${day}`;
}
