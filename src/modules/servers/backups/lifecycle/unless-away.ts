import { EngineError } from '../../../../drivers/engine/engine.js';

/**
 * For tidying up after all is done: an engine that is away is waited for, but nothing else that goes wrong may undo what
 * was achieved. Whatever is left is found by the search for leftovers.
 */
export async function unlessAway(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof EngineError) || error.code === 'unavailable') throw error;
  }
}
