import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from './terminal.mjs';

/**
 * @typedef {object} ProcessIdentity
 * @property {number} pid
 * @property {string} startTime clock ticks after boot, from /proc: with the boot id it tells a recycled pid
 * @property {string} bootId
 */

let bootId = '';
function currentBoot() {
  bootId ||= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return bootId;
}

/**
 * State letter, parent and start time of a process, or undefined when there is none.
 * @param {number} pid
 */
function processStat(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The command name is in parentheses and may hold anything, spaces and parentheses included.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0], startTime: fields[19] };
}

/**
 * @param {number} pid
 * @returns {ProcessIdentity | undefined}
 */
export function identify(pid) {
  const stat = processStat(pid);
  if (!stat?.startTime || stat.state === 'Z') return undefined;
  return { pid, startTime: stat.startTime, bootId: currentBoot() };
}

/**
 * Whether the very process that was identified still runs.
 * @param {ProcessIdentity | undefined} identity
 */
export function isRunning(identity) {
  if (!identity || identity.bootId !== currentBoot()) return false;
  return identify(identity.pid)?.startTime === identity.startTime;
}

/**
 * Signals the process, provided it is still the one that was identified.
 * @param {ProcessIdentity} identity
 * @param {NodeJS.Signals} signal
 */
export function signalProcess(identity, signal) {
  if (!isRunning(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Waits until the process has ended; false when it has not in time.
 * @param {ProcessIdentity} identity
 * @param {number} timeoutMs
 */
export async function waitForExit(identity, timeoutMs) {
  return waitUntil(() => !isRunning(identity), timeoutMs, 50);
}

/**
 * Polls until the check holds; false when time is up.
 * @param {() => boolean | Promise<boolean>} check
 * @param {number} timeoutMs
 * @param {number} [everyMs]
 */
export async function waitUntil(check, timeoutMs, everyMs = 100) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    if (await check()) return true;
    if (Date.now() >= deadline) return false;
    await sleep(everyMs);
  }
}

/**
 * Command line of a process, for telling people who holds something.
 * @param {number} pid
 */
export function describeProcess(pid) {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    if (line) return line.slice(0, 100);
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return 'unknown';
  }
}

/**
 * Runs a program to its end, by argument array, and gives what it printed. A failure is reported with its last lines.
 * @param {string} command
 * @param {string[]} args
 * @param {object} [options]
 * @param {string} [options.cwd]
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {string} [options.input]
 * @param {string} [options.title] what to call it when it fails
 * @param {string} [options.advice]
 * @param {(line: string) => void} [options.onLine] called for every line it prints
 * @param {number} [options.timeoutMs]
 * @param {number} [options.tail] how many of its last lines a failure tells
 * @param {AbortSignal} [options.signal] ends the program and what it started
 * @param {boolean} [options.mayFail] resolve with the code instead of failing
 * @returns {Promise<{ code: number, stdout: string, stderr: string }>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      // A group of its own, where the whole of it may have to be ended.
      detached: options.signal !== undefined,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    options.signal?.addEventListener('abort', () => endGroup(child.pid));
    /** @type {string[]} */
    const tail = [];
    const collect = (/** @type {import('node:stream').Readable | null} */ stream) => {
      if (!stream) return () => '';
      let text = '';
      let rest = '';
      stream.setEncoding('utf8');
      stream.on('data', (/** @type {string} */ chunk) => {
        text += chunk;
        const lines = (rest + chunk).split(/\r\n|\r|\n/);
        rest = lines.pop() ?? '';
        for (const line of lines) {
          if (line.trim() === '') continue;
          tail.push(line);
          if (tail.length > (options.tail ?? 15)) tail.shift();
          options.onLine?.(line);
        }
      });
      stream.on('end', () => rest.trim() && tail.push(rest));
      return () => text;
    };
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    const title = options.title ?? `${command} ${args[0] ?? ''}`.trim();
    let timedOut = false;
    const timer = options.timeoutMs
      ? setTimeout(() => {
          timedOut = true;
          child.kill('SIGKILL');
        }, options.timeoutMs)
      : undefined;
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new Failure(`${title}: ${cause.message}`, { advice: options.advice, cause }));
    });
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer);
      const code = exitCode ?? 128;
      if (code === 0 || (options.mayFail && !timedOut)) return resolve({ code, stdout: stdout(), stderr: stderr() });
      const how = timedOut
        ? `not done after ${options.timeoutMs} ms`
        : signal
          ? `ended by ${signal}`
          : `exit code ${code}`;
      reject(new Failure(`${title}: ${how}`, { log: tail, advice: options.advice }));
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input);
  });
}

/** @param {number | undefined} leader */
function endGroup(leader) {
  if (leader === undefined || !identify(leader)) return;
  process.kill(-leader, 'SIGTERM');
}
