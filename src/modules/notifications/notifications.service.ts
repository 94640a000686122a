import { Injectable } from '@nestjs/common';
import { In, LessThan, MoreThan } from 'typeorm';
import { Config } from '../../config/config.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { decodeCursor, Page, type PageQuery } from '../../platform/http/page.js';
import { idFloor, newId } from '../../platform/ids/id.js';
import { truncate } from '../../platform/text/truncate.js';
import { ChatAddressService } from '../accounts/chat-address.service.js';
import type { NotificationView } from './notification.dto.js';
import { MAX_NOTIFICATION, Notification } from './notification.entity.js';

/** Of one account. More would take hours to send, and nobody reads them. */
const MOST_QUEUED = 200;

export interface NewNotification {
  accountId: string;
  /** What it is about. */
  resourceId: string;
  kind: string;
  text: string;
}

/** Writes and shows what accounts are told. Sending is the worker's business. */
@Injectable()
export class NotificationsService {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly chat: ChatAddressService,
  ) {}

  /** In the transaction of its cause, so that there is one message for it: none is lost and none is doubled. */
  async notify(tx: Tx, { text, ...wanted }: NewNotification): Promise<void> {
    const now = new Date();
    const obstacle = await this.obstacle(tx, wanted.accountId);
    await tx.manager.insert(Notification, {
      ...wanted,
      id: newId('ntf'),
      text: truncate(text, MAX_NOTIFICATION),
      status: obstacle ? 'NOT_SENT' : 'QUEUED',
      reason: obstacle,
      attempts: 0,
      dueAt: now,
      createdAt: now,
    });
  }

  /** When the account was last told this, if that was after `since`. */
  async toldAt(tx: Tx, what: Omit<NewNotification, 'text'>, since: Date): Promise<Date | null> {
    const last = await tx.manager.findOne(Notification, {
      where: { ...what, id: MoreThan(idFloor('ntf', since)) },
      order: { id: 'DESC' },
    });
    return last?.createdAt ?? null;
  }

  async list(caller: Principal, { limit, cursor }: PageQuery): Promise<Page<NotificationView>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.database.manager.find(Notification, {
      where: { accountId: caller.accountId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit + 1,
    });
    return Page.of(rows, limit, ({ id }) => [id]).map(
      ({ id, kind, resourceId, text, status, reason, attempts, createdAt, sentAt }) => ({
        id,
        kind,
        resourceId,
        text,
        status,
        reason,
        attempts,
        createdAt,
        sentAt,
      }),
    );
  }

  private async obstacle(tx: Tx, accountId: string): Promise<string | null> {
    if (!this.config.chatBotToken) return 'not_configured';
    if ((await this.chat.of(tx, accountId)) === null) return 'no_recipient';
    const queued = await tx.manager.countBy(Notification, { accountId, status: In(['QUEUED', 'SENDING']) });
    return queued >= MOST_QUEUED ? 'too_many' : null;
  }
}
