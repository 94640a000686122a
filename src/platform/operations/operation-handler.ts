import { SetMetadata } from '@nestjs/common';
import type { Tx } from '../database/database.js';
import type { OperationSlots } from './operation-slots.js';
import type { Operation } from './operation.entity.js';

/**
 * One step of an operation. It may be run again after a crash at any point of it, by another process, so it must be
 * idempotent; so must `undo`, which also runs for a step that never got anywhere.
 */
export interface OperationStep {
  name: string;
  run(context: StepContext): Promise<void>;
  undo?(context: StepContext): Promise<void>;
}

export interface StepContext {
  readonly operation: Operation;
  /** Aborted when this process may no longer go on: its lease was lost or it was told to cancel. */
  readonly signal: AbortSignal;
}

/** What an operation does, step by step, and what its end means for the rows. One class per type, in a `*.worker.ts`. */
export abstract class OperationHandler {
  abstract steps(operation: Operation): OperationStep[] | Promise<OperationStep[]>;
  /** The rows' side of success, in the transaction that ends the operation. */
  abstract onDone(tx: Tx, operation: Operation): Promise<void>;
  /** The rows' side of failure, after every step was undone. */
  abstract onFailed(tx: Tx, operation: Operation, failure: OperationFailure): Promise<void>;
  /** The rows' side of a cancellation, after every step was undone; most leave the rows to whoever cancelled. */
  async onCancelled(_tx: Tx, _operation: Operation): Promise<void> {}
  /**
   * What this shares with others whose work weighs on the same thing; null where as many may run as there are. An operation
   * that goes on with a step it had reached waits for a slot as well, unless this says null for that step.
   */
  slots(_step: string | null): OperationSlots | null {
    return null;
  }
}

export interface OperationFailure {
  code: string;
  detail: string;
}

/** Ends the operation: trying again would not help. Code and detail can be read by the account. */
export class OperationFailed extends Error implements OperationFailure {
  constructor(
    readonly code: string,
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(`${code}: ${detail}`, options);
  }
}

/** Hands the operation back, to run this step again after a while: what it waits for has not happened yet. */
export class RunAgain extends Error {
  constructor(readonly afterMs: number) {
    super('waiting');
  }
}

export const HANDLES_OPERATION = Symbol('handles-operation');

/** Names the operation type a handler is for; the worker refuses to start with two handlers of one type. */
export const HandlesOperation = (type: string) => SetMetadata(HANDLES_OPERATION, type);
