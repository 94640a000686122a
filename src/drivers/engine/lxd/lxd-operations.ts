import { EngineError } from '../engine.js';
import { lxdError } from './lxd-error.js';
import type { LxdCall, LxdTransport } from './lxd-transport.js';

export interface LxdOperation {
  id: string;
  status_code: number;
  err: string;
  metadata: Record<string, unknown> | null;
}

const SUCCESS = 200;
const RUNNING_BELOW = 200;
/** How much longer than the engine itself we wait for the answer. */
const GRACE_MS = 5000;

/** Starts changes that the engine carries out in the background, and waits for their end. */
export class LxdOperations {
  constructor(private readonly transport: LxdTransport) {}

  /**
   * Resolves with the operation once it succeeded, or null when it ended unseen: the engine forgets operations seconds
   * after their end, and then only the thing itself can tell.
   */
  async run(method: string, path: string, options: LxdCall & { waitMs?: number } = {}): Promise<LxdOperation | null> {
    const answer = await this.transport.call<LxdOperation>(method, path, options);
    if (answer.operation === null) return null;
    return this.wait(answer.operation, `${method} ${path}`, options.waitMs ?? 60_000);
  }

  private async wait(operation: string, what: string, waitMs: number): Promise<LxdOperation | null> {
    const seconds = Math.ceil(waitMs / 1000);
    let ended: LxdOperation;
    try {
      ended = await this.transport.get<LxdOperation>(`${operation.replace(/^\/1\.0/, '').split('?')[0]}/wait`, {
        query: { timeout: String(seconds) },
        timeoutMs: seconds * 1000 + GRACE_MS,
      });
    } catch (error) {
      if (error instanceof EngineError && error.code === 'not_found') return null;
      throw error;
    }
    if (ended.status_code === SUCCESS) return ended;
    if (ended.status_code < RUNNING_BELOW)
      throw new EngineError('timeout', `${what}: still running after ${seconds} s`);
    throw lxdError(0, ended.err || 'the operation was cancelled', what);
  }
}
