import type { FindOptionsWhere } from 'typeorm';
import type { Database } from '../database/database.js';
import { notFound } from '../errors/domain-error.js';
import { Operation, type OperationStatus } from './operation.entity.js';

/** The operators' view of operations, over all accounts. */
export class OperationsAdmin {
  constructor(private readonly database: Database) {}

  async list(limit: number, status?: string): Promise<Operation[]> {
    const where: FindOptionsWhere<Operation> = status === undefined ? {} : { status: status as OperationStatus };
    return this.database.manager.find(Operation, { where, order: { id: 'DESC' }, take: limit });
  }

  /** Makes it due now and forgets earlier failures; one that has ended stays ended. */
  async retry(id: string): Promise<Operation> {
    await this.database.manager.update(
      Operation,
      { id, status: 'QUEUED' },
      { dueAt: () => 'UTC_TIMESTAMP(3)', failures: 0 },
    );
    const operation = await this.database.manager.findOneBy(Operation, { id });
    if (!operation) throw notFound();
    return operation;
  }
}
