import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, readJson, writeJson } from './layout.mjs';
import { identify, isRunning } from './process.mjs';
import { Failure } from './terminal.mjs';

/** @param {import('./layout.mjs').Layout} layout */
const lockFile = (layout) => join(layout.run, 'lock.json');

/**
 * The other command that works on this stack at the moment, if any.
 * @param {import('./layout.mjs').Layout} layout
 * @returns {number | undefined} its pid
 */
export function lockHolder(layout) {
  const holder = readJson(lockFile(layout));
  return holder && holder.pid !== process.pid && isRunning(holder) ? holder.pid : undefined;
}

/**
 * Keeps a second command off the same stack while the first one works on it.
 * @param {import('./layout.mjs').Layout} layout
 * @returns {() => void} gives it free again
 */
export function takeLock(layout) {
  makeFolder(layout.run, 0o711);
  const holder = lockHolder(layout);
  if (holder) {
    throw new Failure(`another command is at work on this stack (pid ${holder})`, {
      advice: 'wait until it has ended',
    });
  }
  writeJson(lockFile(layout), identify(process.pid));
  const free = () => {
    process.off('exit', free);
    if (readJson(lockFile(layout))?.pid === process.pid) rmSync(lockFile(layout), { force: true });
  };
  process.once('exit', free);
  return free;
}
