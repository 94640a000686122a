import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isExecutable, lastLines, readJson, writeJson } from './layout.mjs';
import { HASH_MARK, SERVICE_MARK, plainEnvironment } from './environment.mjs';
import { identify, isRunning, run, signalProcess, waitForExit, waitUntil } from './process.mjs';
import { PROJECT_NODE } from './project.mjs';
import { Failure } from './terminal.mjs';

/** The daemons of a stack, in the order in which they are started. */
export const SERVICE_ORDER = ['mariadb', 'redis', 'lxd', 'mariadb-tenant', 'identity-provider', 'caddy', 'berth'];
export const SUPERVISOR = 'supervisor';

/**
 * How a daemon is ended: by a signal, or by a program that asks it (and SIGKILL when time is up).
 * @typedef {object} StopRule
 * @property {NodeJS.Signals} signal
 * @property {number} timeoutMs
 * @property {string[]} [program]
 * @property {Record<string, string>} [env]
 */

/**
 * @typedef {object} Service
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 * @property {Record<string, string>} env
 * @property {string} cwd
 * @property {string} log file
 * @property {StopRule} stop
 * @property {string} [revision] changes when the service has to be replaced though it is called the same way
 */

/**
 * What is written about a running daemon, without its environment. Enough to find it again and to end it.
 * @typedef {object} PidRecord
 * @property {string} name
 * @property {import('./process.mjs').ProcessIdentity} identity
 * @property {string} hash of the service it was started as
 * @property {StopRule} stop
 */

/** @param {Service} service */
export function hashOf(service) {
  return createHash('sha256').update(JSON.stringify(service)).digest('hex');
}

/**
 * @param {string} runFolder
 * @param {string} name
 */
export function pidFile(runFolder, name) {
  return join(runFolder, `${name}.pid.json`);
}

/**
 * The record of a daemon that runs now; a file that a dead one left is removed.
 * @param {string} runFolder
 * @param {string} name
 * @returns {PidRecord | undefined}
 */
export function runningRecord(runFolder, name) {
  const file = pidFile(runFolder, name);
  const record = readJson(file);
  if (record && isRunning(record.identity)) return record;
  rmSync(file, { force: true });
  return undefined;
}

/**
 * @param {string} runFolder
 * @returns {PidRecord[]}
 */
export function runningRecords(runFolder) {
  if (!existsSync(runFolder)) return [];
  const names = readdirSync(runFolder).flatMap((file) => /^(.+)\.pid\.json$/.exec(file)?.[1] ?? []);
  return names.flatMap((name) => runningRecord(runFolder, name) ?? []);
}

/**
 * Ends a daemon in its orderly way, by force when that takes too long.
 * @param {string} runFolder
 * @param {PidRecord} record
 */
export async function endProcess(runFolder, record) {
  const { identity, stop } = record;
  let asked = false;
  if (stop.program) {
    const [command = '', ...args] = stop.program;
    const env = { ...process.env, ...stop.env };
    const answer = await run(command, args, { env, mayFail: true, timeoutMs: stop.timeoutMs }).catch(() => undefined);
    asked = answer?.code === 0;
  }
  if (!asked) signalProcess(identity, stop.signal);
  if (!(await waitForExit(identity, stop.timeoutMs))) {
    signalProcess(identity, 'SIGKILL');
    await waitForExit(identity, 10_000);
  }
  rmSync(pidFile(runFolder, record.name), { force: true });
}

/**
 * Starts a daemon in a session of its own, so that it outlives whoever started it.
 * @param {string} runFolder
 * @param {Service} service
 * @returns {{ record: PidRecord, child: import('node:child_process').ChildProcess }}
 */
export function startProcess(runFolder, service) {
  const log = openSync(service.log, 'a', 0o600);
  try {
    const child = spawn(service.command, service.args, {
      cwd: service.cwd,
      env: { ...service.env, [SERVICE_MARK]: service.name, [HASH_MARK]: hashOf(service) },
      detached: true,
      stdio: ['ignore', log, log],
    });
    // A command that cannot be started has no pid; its 'error' event tells why.
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    const record = {
      name: service.name,
      identity: identity ?? { pid: child.pid ?? 0, startTime: '', bootId: '' },
      hash: hashOf(service),
      stop: service.stop,
    };
    if (identity) writeJson(pidFile(runFolder, service.name), record);
    return { record, child };
  } finally {
    closeSync(log);
  }
}

/**
 * @typedef {object} ServiceStatus
 * @property {'running' | 'waiting' | 'stopped'} state `waiting` to be started again after it died
 * @property {number} [pid]
 * @property {string} hash
 * @property {number} starts how often it was started or adopted
 * @property {string} [lastExit]
 */

/** Speaks to the supervisor of one stack over its Unix socket: one JSON line there, one back. */
export class Supervisor {
  /** @param {import('./layout.mjs').Layout} layout */
  constructor(layout) {
    this.layout = layout;
    this.socket = join(layout.run, 'supervisor.sock');
  }

  /**
   * @param {Record<string, unknown>} request
   * @returns {Promise<any>}
   */
  ask(request) {
    return new Promise((resolve, reject) => {
      const socket = connect(this.socket);
      let text = '';
      socket.setEncoding('utf8');
      socket.on('connect', () => socket.write(`${JSON.stringify(request)}\n`));
      socket.on('data', (chunk) => (text += chunk));
      socket.on('error', reject);
      socket.on('close', () => {
        try {
          const answer = JSON.parse(text);
          if (answer.error) reject(new Failure(answer.error));
          else resolve(answer.result);
        } catch {
          reject(
            new Failure('the supervisor went away', { log: lastLines(join(this.layout.log, 'supervisor.log'), 10) }),
          );
        }
      });
    });
  }

  /** @returns {Promise<Record<string, ServiceStatus> | undefined>} undefined when no supervisor runs */
  async status() {
    try {
      return await this.ask({ op: 'status' });
    } catch {
      return undefined;
    }
  }

  /** Starts the supervisor unless one answers. */
  async ensure() {
    if (await this.status()) return;
    const stale = runningRecord(this.layout.run, SUPERVISOR);
    if (stale) await endProcess(this.layout.run, { ...stale, stop: { signal: 'SIGKILL', timeoutMs: 5000 } });
    rmSync(this.socket, { force: true });
    const node = isExecutable(PROJECT_NODE) ? PROJECT_NODE : process.execPath;
    const log = join(this.layout.log, 'supervisor.log');
    const { record, child } = startProcess(this.layout.run, {
      name: SUPERVISOR,
      command: node,
      args: [fileURLToPath(new URL('../supervisor.mjs', import.meta.url)), this.layout.kind],
      env: plainEnvironment(this.layout),
      cwd: '/',
      log,
      stop: { signal: 'SIGTERM', timeoutMs: 5000 },
    });
    child.on('error', () => {});
    child.unref();
    const up = await waitUntil(async () => (await this.status()) !== undefined || !isRunning(record.identity), 15_000);
    if (!up || !(await this.status())) {
      throw new Failure('the supervisor does not start', { log: lastLines(log, 15), logFile: log });
    }
  }

  /**
   * Starts a service, adopts the one that an earlier supervisor left, or replaces one that was called differently.
   * @param {Service} service
   * @returns {Promise<{ change: 'none' | 'adopted' | 'started' | 'replaced' }>}
   */
  start(service) {
    return this.ask({ op: 'start', service });
  }

  /**
   * Starts again what was stopped, as it was.
   * @param {string} name
   */
  resume(name) {
    return this.ask({ op: 'resume', name });
  }

  /** @param {string} name */
  stop(name) {
    return this.ask({ op: 'stop', name });
  }

  /**
   * Ends it at once with SIGKILL and leaves it so.
   * @param {string} name
   */
  kill(name) {
    return this.ask({ op: 'kill', name });
  }

  /** Ends the supervisor and leaves its daemons as they are. */
  async quit() {
    const record = runningRecord(this.layout.run, SUPERVISOR);
    await this.ask({ op: 'quit' }).catch(() => undefined);
    if (record && !(await waitForExit(record.identity, 5000))) {
      signalProcess(record.identity, 'SIGKILL');
      await waitForExit(record.identity, 5000);
    }
    rmSync(pidFile(this.layout.run, SUPERVISOR), { force: true });
    rmSync(this.socket, { force: true });
  }

  /**
   * Waits until a service answers; tells the end of its log when it dies or does not.
   * @param {Service} service
   * @param {() => Promise<boolean>} answers
   * @param {{ title: string, timeoutMs: number, advice?: string }} options
   */
  async waitFor(service, answers, { title, timeoutMs, advice }) {
    let died = false;
    const first = (await this.status())?.[service.name]?.starts ?? 0;
    const check = async () => {
      if (await answers().catch(() => false)) return true;
      const status = (await this.status())?.[service.name];
      // One death may be a port not yet released; the second one is its own doing.
      died = !status || status.starts > first + 1;
      return died;
    };
    const done = await waitUntil(check, timeoutMs, 150);
    if (done && !died) return;
    const message = died
      ? `${title} ends as soon as it is started`
      : `${title} does not answer after ${timeoutMs / 1000} s`;
    throw new Failure(message, { log: lastLines(service.log, 15), logFile: service.log, advice });
  }
}
