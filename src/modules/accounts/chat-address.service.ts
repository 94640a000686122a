import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { EventRecorder } from '../../platform/events/event-recorder.js';
import { Account } from './account.entity.js';

/** Where the holder of an account is reached on the chat platform. */
@Injectable()
export class ChatAddressService {
  constructor(
    private readonly database: Database,
    private readonly events: EventRecorder,
  ) {}

  get(caller: Principal): Promise<string | null> {
    return this.of(this.database, caller.accountId);
  }

  /** Null when there is nobody to write to. */
  async of({ manager }: Pick<Tx, 'manager'>, accountId: string): Promise<string | null> {
    const account = await manager.findOne(Account, {
      select: { id: true, chatUserId: true },
      where: { id: accountId },
    });
    return account?.chatUserId ?? null;
  }

  async set({ accountId, via, keyId, address }: Principal, chatUserId: string | null): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.manager.update(Account, { id: accountId }, { chatUserId });
      await this.events.record(tx, {
        accountId,
        resourceId: accountId,
        event: 'user:chat.update',
        properties: { set: chatUserId !== null },
        actor: { type: via, id: keyId },
        ip: address,
      });
    });
  }
}
