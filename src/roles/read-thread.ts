import { parentPort } from 'node:worker_threads';
import { readAtOnce, type FilePart } from '../drivers/objects/local/read-part.js';
import type { ReadOutcome } from './threaded-reads.js';

/** What runs in a thread of the threaded reads: one batch after another. The bytes change hands instead of being copied. */
parentPort!.on('message', (parts: FilePart[]) => {
  const outcomes = parts.map(outcomeOf);
  const bytes = outcomes.flatMap((outcome) => ('bytes' in outcome ? [outcome.bytes.buffer] : []));
  parentPort!.postMessage(outcomes, bytes);
});

function outcomeOf(part: FilePart): ReadOutcome {
  try {
    return { bytes: readAtOnce(part) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { failed: { message, code } };
  }
}
