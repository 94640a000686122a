import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { In, LessThanOrEqual } from 'typeorm';
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

  /** Tries what is due, once. A limit of the chat platform's holds for all, so it ends the pass. */
  async pass(): Promise<void> {
    const due = await this.database.manager.find(Notification, {
      where: { status: In(['QUEUED', 'SENDING']), dueAt: LessThanOrEqual(new Date()) },
      order: { dueAt: 'ASC' },
      take: BATCH,
    });
    for (const notification of due) {
      if (this.stopped || !(await this.claim(notification))) continue;
      if ((await this.send(notification)) === 'rate_limited') return;
    }
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

  private async send(notification: Notification): Promise<string> {
    const outcome = await this.attempt(notification);
    this.outcomes.inc({ outcome });
    return outcome;
  }

  private async attempt(notification: Notification): Promise<string> {
    const { id, accountId, text } = notification;
    const recipient = await this.chat.of(this.database, accountId);
    if (recipient === null) return this.giveUp(notification, 'no_recipient');
    try {
      await this.notifier.sendPrivateMessage(recipient, text, id);
    } catch (error) {
      if (!(error instanceof NotifierError)) throw error;
      this.log.warn({ notificationId: id, code: error.code, answer: error.message }, 'notification not sent');
      const late = Date.now() - notification.createdAt.getTime() >= GIVE_UP_MS;
      const final = error.code === 'refused' || error.code === 'not_configured';
      return late || final ? this.giveUp(notification, error.code) : this.postpone(notification, error);
    }
    await this.write(notification, { status: 'SENT', reason: null, sentAt: new Date() });
    return 'sent';
  }

  private async giveUp(notification: Notification, reason: string): Promise<string> {
    await this.write(notification, { status: 'NOT_SENT', reason });
    return reason;
  }

  private async postpone(notification: Notification, { code, retryAfterMs }: NotifierError): Promise<string> {
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(notification.attempts - 1, 20));
    const dueAt = new Date(Date.now() + (retryAfterMs ?? pause));
    await this.write(notification, { status: 'QUEUED', reason: code, dueAt });
    return code;
  }

  /** Unless another worker has taken it over, because this one took too long. */
  private async write({ id, claim }: Notification, values: Partial<Notification>): Promise<void> {
    await this.database.manager.update(Notification, { id, claim: claim! }, { ...values, claim: null });
  }
}
