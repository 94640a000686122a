import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LessThanOrEqual } from 'typeorm';
import { randomUUID } from 'node:crypto';
import { Notifier, NotifierError } from '../../drivers/notifier/notifier.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { ChatAddressService } from '../accounts/chat-address.service.js';
import { Notification } from './notification.entity.js';

const INTERVAL_MS = 2000;
const BATCH = 20;
/** A sender that has not come back by then has died. */
const CLAIM_MS = 60_000;
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 3600_000;
const GIVE_UP_MS = 24 * 3600_000;

/** In turns by account, so that one with hundreds of messages keeps nobody waiting. */
const TURNS = `(
  SELECT id, ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY due_at, id) AS turn
    FROM notifications WHERE status IN ('QUEUED', 'SENDING') AND due_at <= :now)`;

/** Sends what waits to be sent. A row is claimed before its message goes out, so that two workers send it once. */
@Injectable()
export class NotificationSenderWorker implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private sending: Promise<void> = Promise.resolve();
  private stopped = false;
  private readonly outcomes;

  constructor(
    private readonly database: Database,
    private readonly notifier: Notifier,
    private readonly chat: ChatAddressService,
    private readonly log: AppLogger,
    metrics: Metrics,
  ) {
    this.outcomes = metrics.counter('berth_notifications_total', 'Tries to send a private message, by outcome', [
      'outcome',
    ]);
  }

  onApplicationBootstrap(): void {
    this.schedule();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.sending;
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.sending = this.passQuietly().finally(() => this.schedule());
    }, INTERVAL_MS);
  }

  private async passQuietly(): Promise<void> {
    try {
      await this.pass();
    } catch (error) {
      this.log.warn({ err: error }, 'sending of notifications failed; the next pass follows');
    }
  }

  /** Tries what is due, once. A limit that the chat platform has for all ends the pass. */
  async pass(): Promise<void> {
    for (const notification of await this.due()) {
      if (this.stopped || !(await this.claim(notification))) continue;
      if (!(await this.send(notification))) return;
    }
  }

  private due(): Promise<Notification[]> {
    return this.database.manager
      .createQueryBuilder(Notification, 'n')
      .innerJoin(TURNS, 'turns', 'turns.id = n.id', { now: new Date() })
      .orderBy('turns.turn')
      .addOrderBy('n.dueAt')
      .limit(BATCH)
      .getMany();
  }

  private async claim(notification: Notification): Promise<boolean> {
    const { id, status, dueAt, attempts } = notification;
    const claim = { status: 'SENDING', claim: randomUUID(), dueAt: new Date(Date.now() + CLAIM_MS) } as const;
    const where = { id, status, dueAt, attempts };
    const claimed = await this.database.manager.update(Notification, where, { ...claim, attempts: attempts + 1 });
    if (claimed.affected !== 1) return false;
    Object.assign(notification, claim, { attempts: attempts + 1 });
    return true;
  }

  /** Whether the platform takes messages to others. */
  private async send(notification: Notification): Promise<boolean> {
    try {
      this.outcomes.inc({ outcome: await this.attempt(notification) });
      return true;
    } catch (error) {
      if (!(error instanceof NotifierError)) throw error;
      this.outcomes.inc({ outcome: error.code });
      await this.fail(notification, error);
      return !error.forAll;
    }
  }

  private async attempt(notification: Notification): Promise<string> {
    const { id, accountId, text } = notification;
    const recipient = await this.chat.of(this.database, accountId);
    if (recipient === null) {
      await this.giveUp(notification, 'no_recipient');
      return 'no_recipient';
    }
    await this.notifier.sendPrivateMessage(recipient, text, id);
    await this.write(notification, { status: 'SENT', reason: null, sentAt: new Date() });
    return 'sent';
  }

  private async fail(notification: Notification, error: NotifierError): Promise<void> {
    const { code, message } = error;
    this.log.warn({ notificationId: notification.id, code, answer: message }, 'notification not sent');
    const late = Date.now() - notification.createdAt.getTime() >= GIVE_UP_MS;
    const final = code === 'refused' || code === 'not_configured';
    if (late || final) await this.giveUp(notification, code);
    else await this.postpone(notification, error);
  }

  private async giveUp(notification: Notification, reason: string): Promise<void> {
    await this.write(notification, { status: 'NOT_SENT', reason });
  }

  private async postpone(notification: Notification, { code, retryAfterMs }: NotifierError): Promise<void> {
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(notification.attempts - 1, 20));
    const later = { status: 'QUEUED', reason: code, dueAt: new Date(Date.now() + (retryAfterMs ?? pause)) } as const;
    await this.write(notification, later);
    if (code === 'rate_limited') await this.postponeOthers(notification.accountId, later);
  }

  /** What else is due of an account would be refused as well. */
  private async postponeOthers(accountId: string, later: Partial<Notification>): Promise<void> {
    const due = { accountId, status: 'QUEUED', dueAt: LessThanOrEqual(new Date()) } as const;
    await this.database.transaction(async (tx) => void (await tx.manager.update(Notification, due, later)));
  }

  /** Unless another worker has taken it over, because this one took too long. */
  private async write({ id, claim }: Notification, values: Partial<Notification>): Promise<void> {
    await this.database.manager.update(Notification, { id, claim: claim! }, { ...values, claim: null });
  }
}
