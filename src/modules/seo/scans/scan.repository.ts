import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { keepNewest } from '../../../platform/database/keep-newest.js';
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
    await keepNewest(tx, SeoScan, { accountId }, kept);
  }

  async delete(tx: Tx, accountId: string, id: string): Promise<boolean> {
    const { affected } = await tx.manager.delete(SeoScan, { id, accountId });
    return affected === 1;
  }
}
