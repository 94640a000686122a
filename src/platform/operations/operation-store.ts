import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { Database, type Tx } from '../database/database.js';
import { WakeUps } from '../redis/wake-ups.js';
import { truncate } from '../text/truncate.js';
import { Operation, type OperationStatus } from './operation.entity.js';

/** How long a pushed job may take to be picked up before the sweeper pushes another. */
const PUSH_AGAIN_MS = 10_000;

/** This process no longer holds the operation: another one took it over, or it has ended. */
export class LeaseLost extends Error {}

/**
 * The worker's writes to an operation's row. Each is conditional on the lease, so that a process that slept through its
 * lease cannot overwrite what its successor did. Times are the database's own: workers' clocks may differ.
 */
@Injectable()
export class OperationStore {
  /** A process that is not heard of for this long has lost what it was running. */
  readonly leaseMs: number;

  constructor(
    config: Config,
    private readonly database: Database,
    private readonly wakeUps: WakeUps,
  ) {
    this.leaseMs = config.operationLeaseSeconds * 1000;
  }

  /** What a worker has to know of an operation before it takes it. */
  async look(id: string): Promise<Pick<Operation, 'type' | 'step' | 'accountId'> | null> {
    const select = { id: true, type: true, step: true, accountId: true };
    return this.database.manager.findOne(Operation, { where: { id }, select });
  }

  /** Takes the operation for `owner` if it waits or its process is gone; null when there is nothing to take. */
  async claim(id: string, owner: string): Promise<Operation | null> {
    const claimed = await this.database.manager
      .createQueryBuilder()
      .update(Operation)
      .set({
        status: 'RUNNING',
        leaseOwner: owner,
        leaseUntil: this.leaseEnd,
        // Should this process die, the operation is due as soon as the lease is over.
        dueAt: () => 'UTC_TIMESTAMP(3)',
        startedAt: () => 'COALESCE(started_at, UTC_TIMESTAMP(3))',
        attempts: () => 'attempts + 1',
      })
      .where('id = :id', { id })
      .andWhere("(status = 'QUEUED' OR (status = 'RUNNING' AND lease_until < UTC_TIMESTAMP(3)))")
      .execute();
    if (claimed.affected !== 1) return null;
    return this.database.manager.findOneByOrFail(Operation, { id });
  }

  /** Prolongs the lease and tells whether the operation was asked to cancel meanwhile. */
  async renew(id: string, owner: string): Promise<{ cancelRequested: boolean }> {
    await this.write(id, owner, { leaseUntil: this.leaseEnd });
    const { cancelRequested } = await this.database.manager.findOneOrFail(Operation, {
      where: { id },
      select: { id: true, cancelRequested: true },
    });
    return { cancelRequested };
  }

  async enterStep(id: string, owner: string, step: string, progress: number): Promise<void> {
    await this.write(id, owner, { step, progress, leaseUntil: this.leaseEnd });
  }

  async beginUndo(id: string, owner: string, errorCode: string, errorDetail: string): Promise<void> {
    await this.write(id, owner, { undoing: true, errorCode, errorDetail: truncate(errorDetail, 500) });
  }

  /** Gives it back to run again after `afterMs`; it is taken up by whoever is free then. */
  async handBack(id: string, owner: string, afterMs: number, failed: boolean): Promise<void> {
    const dueAt = () => `TIMESTAMPADD(MICROSECOND, ${Math.round(afterMs) * 1000}, UTC_TIMESTAMP(3))`;
    const failures = failed ? { failures: () => 'failures + 1' } : {};
    await this.write(id, owner, { status: 'QUEUED', leaseOwner: null, leaseUntil: null, dueAt, ...failures });
  }

  /** Ends the operation together with what its end means for the rows, in one transaction. */
  async finish(
    operation: Operation,
    owner: string,
    status: OperationStatus,
    rows: (tx: Tx) => Promise<void>,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const ended = await tx.manager.update(
        Operation,
        { id: operation.id, status: 'RUNNING', leaseOwner: owner },
        {
          status,
          activeKey: null,
          leaseOwner: null,
          leaseUntil: null,
          finishedAt: () => 'UTC_TIMESTAMP(3)',
          ...(status === 'DONE' ? { progress: 100 } : {}),
        },
      );
      if (ended.affected !== 1) throw new LeaseLost();
      // First of all that follows: those who wait need not wait for what the handler still tidies up.
      tx.afterCommit(() => this.wakeUps.wake([operation.id, operation.resourceId]));
      await rows(tx);
    });
  }

  /**
   * Ids of operations that nobody works on though somebody should: never queued, queued but lost, or left by a process
   * that is gone. Marks them as looked after for a while.
   */
  async takeDue(limit: number): Promise<string[]> {
    return this.database.transaction(async ({ manager }) => {
      const rows = await manager.query<{ id: string }[]>(
        `SELECT id FROM operations
          WHERE (status = 'QUEUED' AND due_at <= UTC_TIMESTAMP(3))
             OR (status = 'RUNNING' AND lease_until < UTC_TIMESTAMP(3) AND due_at <= UTC_TIMESTAMP(3))
          ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED`,
        [limit],
      );
      const ids = rows.map((row) => row.id);
      if (ids.length > 0) {
        await manager.query(
          `UPDATE operations SET due_at = TIMESTAMPADD(MICROSECOND, ?, UTC_TIMESTAMP(3)) WHERE id IN (?)`,
          [PUSH_AGAIN_MS * 1000, ids],
        );
      }
      return ids;
    });
  }

  private readonly leaseEnd = (): string => `TIMESTAMPADD(MICROSECOND, ${this.leaseMs * 1000}, UTC_TIMESTAMP(3))`;

  private async write(id: string, owner: string, values: Parameters<typeof this.patch>[1]): Promise<void> {
    const written = await this.patch({ id, owner }, values);
    if (written.affected !== 1) throw new LeaseLost();
  }

  private patch({ id, owner }: { id: string; owner: string }, values: OperationPatch) {
    return this.database.manager.update(Operation, { id, status: 'RUNNING', leaseOwner: owner }, values);
  }
}

type OperationPatch = Parameters<Tx['manager']['update']>[2] & object;
