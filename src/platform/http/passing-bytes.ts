import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How many bytes pass between two collections. */
const EVERY_BYTES = 8 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as Collect;
setFlagsFromString('--no-expose-gc');

let passed = 0;

/**
 * To be told by whoever lets bodies of any size pass through this process. Their buffers weigh nothing among the young objects
 * that stand for them, so these are not looked through for a long time; what is done in the end, for want of memory, is to look
 * through all objects there are, many times for one large body. Looking through the young ones now and then takes a
 * millisecond and frees the buffers.
 */
export function bytesPass(count: number): void {
  passed += count;
  if (passed < EVERY_BYTES) return;
  passed = 0;
  collect({ type: 'minor' });
}
