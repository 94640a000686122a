import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { AppLogger } from '../observability/logger.js';
import { Operation } from './operation.entity.js';
import { OperationFailed, RunAgain, type OperationFailure, type OperationHandler } from './operation-handler.js';
import { OperationRegistry } from './operation-registry.js';
import { LeaseLost, OperationStore } from './operation-store.js';

/** A step that fails for no known reason is tried this often before the operation counts as failed. */
const MAX_FAILURES = 3;
const AWAY_RETRY_MS = 2000;

/** Why a run ended without the operation having ended. */
class Interrupted extends Error {}

/**
 * Runs operations for one worker process: claims the row, walks its steps, undoes them when it fails, and ends it together
 * with its rows. A process that dies anywhere in this leaves a lease that runs out; the next one goes on at the same step.
 */
@Injectable()
export class OperationRunner {
  private readonly owner = `${hostname().slice(0, 24)}:${randomUUID()}`;
  private readonly running = new Map<string, Promise<void>>();
  private draining = false;

  constructor(
    private readonly store: OperationStore,
    private readonly registry: OperationRegistry,
    private readonly log: AppLogger,
  ) {}

  /** Works on the operation if it is to be had. Never throws: what goes wrong ends up in the row or with the sweeper. */
  async run(id: string): Promise<void> {
    if (this.draining || this.running.has(id)) return;
    await this.watched(id, this.inTurn(id));
  }

  private async watched(id: string, working: Promise<void>): Promise<void> {
    const work = working.catch((error: unknown) => {
      this.log.error({ err: error, operationId: id }, 'operation interrupted; another try follows');
    });
    this.running.set(id, work);
    try {
      await work;
    } finally {
      this.running.delete(id);
    }
  }

  /** Stops taking work and waits until every step under way has ended and its operation has been handed back. */
  async drain(): Promise<void> {
    this.draining = true;
    await Promise.all(this.running.values());
  }

  /** Works on it now, or when it has a slot. */
  private async inTurn(id: string): Promise<void> {
    const found = await this.store.look(id);
    if (!found) return;
    const slots = this.registry.find(found.type)?.slots(found.step);
    if (!slots) return this.work(id);
    const inSlot = () => this.work(id).finally(() => slots.giveBack());
    if (slots.take({ id, accountId: found.accountId }, () => void this.watched(id, inSlot()))) await inSlot();
  }

  private async work(id: string): Promise<void> {
    if (this.draining) return;
    const operation = await this.store.claim(id, this.owner);
    if (!operation) return;
    const abort = new AbortController();
    const stopRenewing = this.keepLease(operation, abort);
    try {
      await this.execute(operation, abort);
    } catch (error) {
      await this.interrupted(operation, error);
    } finally {
      stopRenewing();
    }
  }

  private async execute(operation: Operation, abort: AbortController): Promise<void> {
    const handler = this.registry.get(operation.type);
    let failure: OperationFailure | null = operation.undoing
      ? { code: operation.errorCode ?? 'failed', detail: operation.errorDetail ?? '' }
      : null;
    if (!failure) failure = await this.forward(operation, handler, abort);
    if (!failure) {
      await this.store.finish(operation, this.owner, 'DONE', (tx) => handler.onDone(tx, operation));
      return;
    }
    await this.undo(operation, handler, abort);
    const cancelled = failure.code === 'cancelled';
    await this.store.finish(operation, this.owner, cancelled ? 'CANCELLED' : 'FAILED', (tx) =>
      cancelled ? handler.onCancelled(tx, operation) : handler.onFailed(tx, operation, failure),
    );
    this.log.warn(
      { operationId: operation.id, type: operation.type, resourceId: operation.resourceId, code: failure.code },
      'operation ended without success',
    );
  }

  /** Walks the steps from where the operation stands; answers why it failed, or null. */
  private async forward(
    operation: Operation,
    handler: OperationHandler,
    abort: AbortController,
  ): Promise<OperationFailure | null> {
    const steps = await handler.steps(operation);
    const first = Math.max(
      0,
      steps.findIndex((step) => step.name === operation.step),
    );
    try {
      for (const [index, step] of steps.entries()) {
        if (index < first) continue;
        this.pauseForShutdown();
        if (operation.cancelRequested) throw new OperationFailed('cancelled', 'Cancelled.');
        await this.store.enterStep(operation.id, this.owner, step.name, Math.round((index / steps.length) * 100));
        operation.step = step.name;
        await step.run({ operation, signal: abort.signal });
      }
      return null;
    } catch (error) {
      const failure = this.judge(operation, error);
      await this.store.beginUndo(operation.id, this.owner, failure.code, failure.detail);
      operation.undoing = true;
      return failure;
    }
  }

  private async undo(operation: Operation, handler: OperationHandler, abort: AbortController): Promise<void> {
    const steps = await handler.steps(operation);
    const last = steps.findIndex((step) => step.name === operation.step);
    for (const step of steps.slice(0, last + 1).reverse()) {
      this.pauseForShutdown();
      try {
        await step.undo?.({ operation, signal: abort.signal });
      } catch (error) {
        // What is refused for good now would be refused for ever, and a deletion waits for the end of this.
        if (!(error instanceof OperationFailed)) throw error;
        this.log.error({ err: error, operationId: operation.id, step: step.name }, 'a step could not be undone');
      }
    }
  }

  /** Whether an error ends the operation. Rethrows those that only interrupt it. */
  private judge(operation: Operation, error: unknown): OperationFailure {
    if (error instanceof OperationFailed) {
      // What lies behind it is for the operators alone: the account is told the code and the detail.
      if (error.cause) this.log.warn({ err: error.cause, operationId: operation.id, step: operation.step }, error.code);
      return error;
    }
    const passing = error instanceof RunAgain || error instanceof Interrupted || error instanceof LeaseLost;
    if (operation.cancelRequested && !(error instanceof LeaseLost)) return { code: 'cancelled', detail: 'Cancelled.' };
    if (passing || isAway(error) || operation.failures + 1 < MAX_FAILURES) throw error;
    this.log.error({ err: error, operationId: operation.id, step: operation.step }, 'operation step failed for good');
    return { code: 'internal_error', detail: 'The step failed on the platform side. The operators have been told.' };
  }

  private async interrupted(operation: Operation, error: unknown): Promise<void> {
    if (error instanceof LeaseLost) return;
    const waits = error instanceof RunAgain || error instanceof Interrupted;
    const failed = !waits && !isAway(error);
    if (!waits) {
      this.log.warn(
        { err: error, operationId: operation.id, step: operation.step },
        'operation step to be tried again',
      );
    }
    await this.store.handBack(operation.id, this.owner, pause(error, operation), failed);
  }

  private keepLease(operation: Operation, abort: AbortController): () => void {
    const timer = setInterval(() => {
      this.store
        .renew(operation.id, this.owner)
        .then(({ cancelRequested }) => {
          operation.cancelRequested = cancelRequested;
          if (cancelRequested) abort.abort(new OperationFailed('cancelled', 'Cancelled.'));
        })
        .catch((error: unknown) => {
          if (error instanceof LeaseLost) abort.abort(error);
        });
    }, this.store.leaseMs / 10);
    return () => clearInterval(timer);
  }

  private pauseForShutdown(): void {
    if (this.draining) throw new Interrupted();
  }
}

/** Every driver says `code: 'unavailable'` when its backing part cannot be reached. */
function isAway(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'unavailable';
}

/** Milliseconds until the next try. */
function pause(error: unknown, operation: Operation): number {
  if (error instanceof RunAgain) return error.afterMs;
  if (error instanceof Interrupted) return 0;
  if (isAway(error)) return AWAY_RETRY_MS;
  return Math.min(30_000, 500 * 2 ** operation.failures);
}
