import { Injectable } from '@nestjs/common';
import { conflict, DomainError, notFound } from '../errors/domain-error.js';
import { Database, isDuplicate, type Tx } from '../database/database.js';
import { newId } from '../ids/id.js';
import { WakeUps } from '../redis/wake-ups.js';
import type { OperationFailure } from './operation-handler.js';
import { OperationQueue } from './operation-queue.js';
import { Operation, type OperationStatus } from './operation.entity.js';

export interface NewOperation {
  accountId: string;
  type: string;
  resourceId: string;
  /** Never a secret: it can be read in the table for as long as the row is kept. */
  payload?: object;
  /**
   * What runs one at a time; the resource itself unless said otherwise (`kill` and `delete` have lanes of their own, so that
   * they can pass what is stuck).
   */
  lane?: string;
  /** Milliseconds until it may start. */
  delayMs?: number;
}

const FRESH = { progress: 0, attempts: 0, failures: 0, cancelRequested: false, undoing: false };

/** How long a fresh row waits for its own queue job before the sweeper looks after it. */
const FIRST_SWEEP_MS = 2000;
const POLL_MS = 250;

/** Accepts, finds and cancels operations. The worker's side is `operation-runner.ts`. */
@Injectable()
export class OperationsService {
  constructor(
    private readonly database: Database,
    private readonly queue: OperationQueue,
    private readonly wakeUps: WakeUps,
  ) {}

  /**
   * Writes the operation into the caller's transaction and queues it once that has committed. Throws 409 `busy` with the
   * id of what runs when the resource has an unfinished operation already.
   */
  async start(tx: Tx, wanted: NewOperation): Promise<Operation> {
    const now = Date.now();
    const delay = wanted.delayMs ?? 0;
    const operation = tx.manager.create(Operation, {
      ...FRESH,
      id: newId('op'),
      accountId: wanted.accountId,
      type: wanted.type,
      resourceId: wanted.resourceId,
      status: 'QUEUED',
      payload: wanted.payload ?? {},
      activeKey: activeKey(wanted.resourceId, wanted.lane),
      dueAt: new Date(now + (delay > 0 ? delay : FIRST_SWEEP_MS)),
      createdAt: new Date(now),
    });
    try {
      await tx.manager.insert(Operation, operation);
    } catch (error) {
      if (!isDuplicate(error, 'uq_operations_active_key')) throw error;
      throw await this.busy(tx, operation.activeKey!);
    }
    if (delay === 0) tx.afterCommit(() => this.queue.push(operation.id));
    return operation;
  }

  /** Records an operation that had nothing to do, so that its 202 has an id to ask about like any other. */
  async noop(tx: Tx, wanted: Pick<NewOperation, 'accountId' | 'type' | 'resourceId'>): Promise<Operation> {
    const now = new Date();
    const operation = tx.manager.create(Operation, {
      ...FRESH,
      ...wanted,
      id: newId('op'),
      status: 'DONE',
      payload: {},
      progress: 100,
      dueAt: now,
      createdAt: now,
      startedAt: now,
      finishedAt: now,
    });
    await tx.manager.insert(Operation, operation);
    return operation;
  }

  /** The unfinished operation of a resource's lane, if any. */
  async active(tx: Pick<Tx, 'manager'>, resourceId: string, lane?: string): Promise<Operation | null> {
    return tx.manager.findOneBy(Operation, { activeKey: activeKey(resourceId, lane) });
  }

  /** Refuses with 409 `busy` what would have to wait for the unfinished operation of a resource's lane. */
  async mustBeFree(tx: Pick<Tx, 'manager'>, of: { id: string; status: string }, lane?: string): Promise<void> {
    const running = await this.active(tx, of.id, lane);
    if (running) throw busyError(running, of.status);
  }

  /** Ends it at once when it still waits; else asks the worker to end it at its next step. True when it has ended. */
  async cancel(tx: Pick<Tx, 'manager'>, operation: Operation): Promise<boolean> {
    const ended = await tx.manager.update(
      Operation,
      { id: operation.id, status: 'QUEUED', attempts: 0 },
      { status: 'CANCELLED', activeKey: null, finishedAt: new Date() },
    );
    if (ended.affected === 1) return true;
    // What waits between two tries is taken up at once, to be undone.
    await tx.manager.update(
      Operation,
      { id: operation.id },
      { cancelRequested: true, dueAt: () => 'UTC_TIMESTAMP(3)' },
    );
    return false;
  }

  async findOwned(accountId: string, id: string): Promise<Operation> {
    const operation = await this.database.manager.findOneBy(Operation, { id, accountId });
    if (!operation) throw notFound();
    return operation;
  }

  async latestOf(resourceId: string): Promise<Operation | null> {
    return this.database.manager.findOne(Operation, { where: { resourceId }, order: { id: 'DESC' } });
  }

  /** Waits until the operation has ended, at most `timeoutMs`; answers how it stands then. */
  async settled(id: string, timeoutMs: number): Promise<Operation> {
    const deadline = Date.now() + timeoutMs;
    const wakeUp = this.wakeUps.listen([id]);
    try {
      for (;;) {
        const operation = await this.database.manager.findOneByOrFail(Operation, { id });
        const left = deadline - Date.now();
        if (isFinished(operation.status) || left <= 0) return operation;
        await wakeUp.wait(Math.min(POLL_MS, left));
      }
    } finally {
      wakeUp.close();
    }
  }

  /**
   * The same for answers that depend on how it ended: a failure is told as a conflict. True when it is done, false when it
   * goes on.
   */
  async mustSucceed(id: string, timeoutMs: number): Promise<boolean> {
    const operation = await this.settled(id, timeoutMs);
    const failure = failureOf(operation);
    if (failure) throw conflict(failure.code, failure.detail);
    return operation.status === 'DONE';
  }

  private async busy(tx: Pick<Tx, 'manager'>, key: string): Promise<DomainError> {
    const running = await tx.manager.findOneBy(Operation, { activeKey: key });
    return busyError(running);
  }
}

/** What kept an operation that has ended from being done; null for all others. */
export function failureOf({ status, errorCode, errorDetail }: Operation): OperationFailure | null {
  if (!isFinished(status) || status === 'DONE') return null;
  return { code: errorCode ?? status.toLowerCase(), detail: errorDetail ?? 'It was cancelled.' };
}

function busyError(running: Operation | null, currentStatus?: string): DomainError {
  return new DomainError('conflict', 'busy', 'Another operation on this resource has not ended yet.', {
    members: { operationId: running?.id ?? null, ...(currentStatus ? { currentStatus } : {}) },
  });
}

export function isFinished(status: OperationStatus): boolean {
  return status === 'DONE' || status === 'FAILED' || status === 'CANCELLED';
}

function activeKey(resourceId: string, lane?: string): string {
  return lane === undefined ? resourceId : `${resourceId}:${lane}`;
}
