import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/database.js';
import { quotaExceeded } from '../../platform/errors/domain-error.js';
import { QuotaLock, type PlanLimits } from '../accounts/quota-lock.service.js';
import { ServerRepository, type ServerUsageSums } from './server.repository.js';

const QUOTAS = ['servers', 'ram', 'disk', 'cpu', 'databases'] as const;

/** What an account's services may use together. */
@Injectable()
export class ServerQuota {
  constructor(
    private readonly lock: QuotaLock,
    private readonly servers: ServerRepository,
  ) {}

  /**
   * What the account's plan leaves beside its services but for `exceptId`. Holds the account's lock until the transaction
   * ends, so that no other request takes the room meanwhile; take it before any other row lock.
   */
  async room(tx: Tx, accountId: string, exceptId?: string): Promise<Room> {
    const limits = await this.lock.acquire(tx, accountId);
    return new Room(limits, await this.servers.sums(tx, accountId, exceptId));
  }
}

export class Room {
  constructor(
    private readonly limits: PlanLimits,
    private readonly used: ServerUsageSums,
  ) {}

  /** Throws the 403 that names the first limit which `requested` would go over. */
  mustHold(requested: Partial<ServerUsageSums>): void {
    for (const name of QUOTAS) {
      const [allowed, used, wanted] = [this.limits[name], this.used[name], requested[name] ?? 0];
      if (wanted > 0 && used + wanted > allowed) throw quotaExceeded({ name, allowed, used, requested: wanted });
    }
  }
}
