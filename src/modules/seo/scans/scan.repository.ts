import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
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

  async insert(scan: SeoScan): Promise<void> {
    await this.database.manager.insert(SeoScan, scan);
  }

  async delete(tx: Tx, accountId: string, id: string): Promise<boolean> {
    const { affected } = await tx.manager.delete(SeoScan, { id, accountId });
    return affected === 1;
  }
}
