/**
 * Watches the daemons and the roles of one stack and starts again what dies. Called by `up` and `test`, detached. When
 * it ends itself, by whatever cause, the daemons go on, and the next supervisor adopts them by their pid files.
 */
import { copyFileSync, existsSync, rmSync, statSync, truncateSync } from 'node:fs';
import { createServer } from 'node:net';
import { layoutOf } from './lib/layout.mjs';
import { isRunning, signalProcess, waitForExit } from './lib/process.mjs';
import { Supervisor, endProcess, hashOf, pidFile, runningRecord, startProcess } from './lib/supervision.mjs';

/** @typedef {import('./lib/supervision.mjs').Service} Service */

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
const STEADY_AFTER_MS = 60_000;
const LOG_LIMIT_BYTES = 20 * 1024 * 1024;

const layout = layoutOf(process.argv[2] === 'test' ? 'test' : 'up');
const say = (/** @type {string} */ text) => console.log(`${new Date().toISOString()} ${text}`);

/** One daemon under watch. */
class Watched {
  /** @param {Service} service */
  constructor(service) {
    this.service = service;
    this.wanted = true;
    this.starts = 0;
    this.delay = FIRST_DELAY_MS;
    this.startedAt = 0;
    /** @type {import('./lib/supervision.mjs').PidRecord | undefined} */
    this.record = undefined;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    /** @type {string | undefined} */
    this.lastExit = undefined;
  }

  start() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.starts++;
    this.startedAt = Date.now();
    const { record, child } = startProcess(layout.run, this.service);
    this.record = record;
    say(`${this.service.name}: started, pid ${record.identity.pid}`);
    child.on('error', (error) => this.ended(record, error.message));
    child.on('exit', (code, signal) => this.ended(record, signal ?? `exit code ${code}`));
  }

  /** @param {import('./lib/supervision.mjs').PidRecord} record */
  adopt(record) {
    this.starts++;
    this.startedAt = Date.now();
    this.record = record;
    say(`${this.service.name}: adopted, pid ${record.identity.pid}`);
    // It is nobody's child here, so its end has to be looked for.
    const poll = setInterval(() => {
      if (this.record === record && isRunning(record.identity)) return;
      clearInterval(poll);
      this.ended(record, 'gone');
    }, 500);
  }

  /**
   * @param {import('./lib/supervision.mjs').PidRecord} record
   * @param {string} how
   */
  ended(record, how) {
    if (this.record !== record) return;
    this.record = undefined;
    this.lastExit = how;
    rmSync(pidFile(layout.run, this.service.name), { force: true });
    if (!this.wanted) return say(`${this.service.name}: ended (${how})`);
    if (Date.now() - this.startedAt > STEADY_AFTER_MS) this.delay = FIRST_DELAY_MS;
    say(`${this.service.name}: died (${how}), starts again in ${this.delay} ms`);
    this.timer = setTimeout(() => this.start(), this.delay);
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY_MS);
  }

  /** @param {boolean} kill */
  async end(kill) {
    this.wanted = false;
    clearTimeout(this.timer);
    this.timer = undefined;
    const record = this.record;
    if (!record) return;
    if (kill) {
      signalProcess(record.identity, 'SIGKILL');
      await waitForExit(record.identity, 10_000);
    } else {
      await endProcess(layout.run, record);
    }
    this.ended(record, kill ? 'killed on demand' : 'stopped on demand');
  }

  resume() {
    if (this.record || this.timer) return;
    this.wanted = true;
    this.delay = FIRST_DELAY_MS;
    this.start();
  }

  status() {
    const state = this.record ? 'running' : this.timer ? 'waiting' : 'stopped';
    const { starts, lastExit } = this;
    return { state, pid: this.record?.identity.pid, hash: hashOf(this.service), starts, lastExit };
  }
}

/** @type {Map<string, Watched>} */
const watched = new Map();

/** @param {Service} service */
async function start(service) {
  const hash = hashOf(service);
  const known = watched.get(service.name);
  if (known && hashOf(known.service) === hash) {
    if (known.record) return { change: 'none' };
    if (known.timer) known.start();
    else known.resume();
    return { change: 'started' };
  }
  const left = known?.record ?? runningRecord(layout.run, service.name);
  const next = new Watched(service);
  if (known) await known.end(false);
  watched.set(service.name, next);
  if (!known && left?.hash === hash) {
    next.adopt(left);
    return { change: 'adopted' };
  }
  if (!known && left) await endProcess(layout.run, left);
  next.start();
  return { change: left ? 'replaced' : 'started' };
}

/** @param {string} name */
function find(name) {
  const found = watched.get(name);
  if (!found) throw new Error(`the supervisor knows no service ${name}`);
  return found;
}

/** @type {Record<string, (request: any) => Promise<unknown>>} */
const operations = {
  status: async () => Object.fromEntries([...watched].map(([name, service]) => [name, service.status()])),
  start: async ({ service }) => start(service),
  resume: async ({ name }) => find(name).resume(),
  stop: async ({ name }) => find(name).end(false),
  kill: async ({ name }) => find(name).end(true),
  quit: async () => {
    setImmediate(quit);
  },
};

/** Requests are done one after another: a start never crosses a stop. A status does not wait in line. */
let queue = Promise.resolve();

/** @param {string} line */
async function answer(line) {
  const request = JSON.parse(line);
  const operation = operations[request.op];
  if (!operation) throw new Error(`unknown operation ${request.op}`);
  if (request.op === 'status') return operation(request);
  const done = queue.then(() => operation(request));
  queue = done.then(
    () => {},
    () => {},
  );
  return done;
}

const server = createServer((socket) => {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk;
    const end = text.indexOf('\n');
    if (end < 0) return;
    answer(text.slice(0, end)).then(
      (result) => socket.end(JSON.stringify({ result: result ?? null })),
      (error) => socket.end(JSON.stringify({ error: error.message })),
    );
    text = text.slice(end + 1);
  });
});

function quit() {
  say('ends; the daemons go on');
  process.exit(0);
}

/** A log that has grown too long becomes `<log>.1`. The writers append, so cutting it short in place is safe. */
function rotate() {
  for (const { service } of watched.values()) {
    if (!existsSync(service.log) || statSync(service.log).size < LOG_LIMIT_BYTES) continue;
    copyFileSync(service.log, `${service.log}.1`);
    truncateSync(service.log, 0);
  }
}

process.on('SIGTERM', quit);
process.on('SIGINT', quit);
process.on('SIGHUP', () => {});
setInterval(rotate, 60_000);

// The socket takes commands: for its owner only. The daemons get an ordinary mask again.
process.umask(0o077);
server.listen(new Supervisor(layout).socket, () => say(`watches the stack ${layout.kind}`));
process.umask(0o022);
