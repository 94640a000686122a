import { Injectable } from '@nestjs/common';
import { LessThan, LessThanOrEqual } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { SeoScan } from './scan.entity.js';

/** Look-ups of scans. None of them sees another account's. */
@Injectable()
export class ScanRepository {
  constructor(private readonly database: Database) {}

  /** Without reports, newest first. */
  list(accountId: string, limit: number, host?: string, before?: string): Promise<SeoScan[]> {
    return this.database.manager.find(SeoScan, {
      where: {
        accountId,
        ...(host === undefined ? {} : { host }),
        ...(before === undefined ? {} : { id: LessThan(before) }),
      },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  async findWhole(accountId: string, id: string): Promise<SeoScan> {
    const scan = await this.database.manager
      .createQueryBuilder(SeoScan, 'scan')
      .addSelect('scan.report')
      .where({ id, accountId })
      .getOne();
    if (!scan) throw notFound();
    return scan;
  }

  async insert(tx: Tx, scan: SeoScan): Promise<void> {
    await tx.manager.insert(SeoScan, scan);
  }

  /** Keeps the newest of an account. */
  async forgetAllBut(tx: Tx, accountId: string, kept: number): Promise<void> {
    const [newest] = await tx.manager.find(SeoScan, {
      select: { id: true },
      where: { accountId },
      order: { id: 'DESC' },
      skip: kept,
      take: 1,
    });
    if (newest) await tx.manager.delete(SeoScan, { accountId, id: LessThanOrEqual(newest.id) });
  }

  async delete(tx: Tx, accountId: string, id: string): Promise<boolean> {
    const { affected } = await tx.manager.delete(SeoScan, { id, accountId });
    return affected === 1;
  }
}
