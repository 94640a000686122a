import { Injectable } from '@nestjs/common';
import { IsNull, LessThan, Not } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { Backup } from './backup.entity.js';

/** How many failed ones a service keeps to be looked at. */
const FAILED_KEPT = 5;

/** Look-ups of backups. Those that are being deleted are seen by nobody but who deletes them. */
@Injectable()
export class BackupRepository {
  constructor(private readonly database: Database) {}

  async list(serverId: string, limit: number, before?: string): Promise<Backup[]> {
    return this.database.manager.find(Backup, {
      where: { serverId, deletedAt: IsNull(), ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  /** Meaningful inside a transaction that holds the service's row: whoever changes a backup does. */
  async find(tx: Pick<Tx, 'manager'>, serverId: string, uuid: string): Promise<Backup> {
    const backup = await tx.manager.findOneBy(Backup, { serverId, uuid, deletedAt: IsNull() });
    if (!backup) throw notFound();
    return backup;
  }

  /** The row of a backup that is known to exist. */
  async require(id: string): Promise<Backup> {
    return this.database.manager.findOneByOrFail(Backup, { id });
  }

  /** How many count against the plan. */
  async count(tx: Tx, serverId: string): Promise<number> {
    return tx.manager.countBy(Backup, { serverId, deletedAt: IsNull(), status: Not('FAILED') });
  }

  /** The one that a scheduled backup may take the place of. */
  async oldestReplaceable(tx: Tx, serverId: string, exceptId = ''): Promise<Backup | null> {
    return tx.manager.findOne(Backup, {
      where: { serverId, deletedAt: IsNull(), status: 'READY', isLocked: false, id: Not(exceptId) },
      order: { id: 'ASC' },
    });
  }

  async markDeleted(tx: Tx, id: string): Promise<void> {
    await tx.manager.update(Backup, { id }, { deletedAt: new Date() });
  }

  /** Failed ones hold no data, but a schedule may make many of them. */
  async forgetFailed(tx: Tx, serverId: string): Promise<void> {
    const rows = await tx.manager.find(Backup, {
      select: { id: true },
      where: { serverId, deletedAt: IsNull(), status: 'FAILED' },
      order: { id: 'DESC' },
    });
    for (const { id } of rows.slice(FAILED_KEPT)) await this.markDeleted(tx, id);
  }
}
