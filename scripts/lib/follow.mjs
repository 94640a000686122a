import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockHolder } from './lock.mjs';
import { runningRecords } from './supervision.mjs';

/**
 * Shows the platform's log until the person interrupts or somebody else ends the stack. Meanwhile it also stands by
 * the supervisor: should that die, it is started again and adopts what runs.
 * @param {{ stack: import('./stack.mjs').Stack, services: import('./supervision.mjs').Service[] }} running
 * @returns {Promise<'interrupted' | 'ended'>}
 */
export async function follow({ stack, services }) {
  const log = join(stack.layout.log, 'berth.log');
  let interrupted = false;
  const interrupt = () => (interrupted = true);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  let offset = existsSync(log) ? statSync(log).size : 0;
  for (let beat = 0; !interrupted; beat++) {
    offset = show(log, offset);
    if (beat % 10 === 9) {
      if (runningRecords(stack.layout.run).length === 0) return 'ended';
      // While another command works on the stack (npm run down, npm run up), nothing here interferes.
      if (!lockHolder(stack.layout) && !(await stack.supervisor.status())) await standBy(stack, services);
    }
    await sleep(300);
  }
  return 'interrupted';
}

/**
 * @param {import('./stack.mjs').Stack} stack
 * @param {import('./supervision.mjs').Service[]} services
 */
async function standBy(stack, services) {
  await stack.supervisor.ensure();
  for (const service of services) await stack.supervisor.start(service);
}

/**
 * Prints what was added to a file.
 * @param {string} file
 * @param {number} offset
 */
function show(file, offset) {
  if (!existsSync(file)) return 0;
  const { size } = statSync(file);
  // It was cut short by the rotation.
  if (size < offset) return 0;
  if (size === offset) return offset;
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(size - offset, 1024 * 1024));
    const read = readSync(fd, buffer, 0, buffer.length, offset);
    process.stdout.write(buffer.subarray(0, read));
    return offset + read;
  } finally {
    closeSync(fd);
  }
}
