import { join } from 'node:path';
import { buildRevision } from './build.mjs';
import { REPOSITORY, readJson, writeJson } from './layout.mjs';
import { run } from './process.mjs';
import { PROJECT_NODE } from './project.mjs';
import { portSetting } from './settings.mjs';
import { answersOk } from './stack.mjs';
import { plainEnvironment } from './environment.mjs';
import { Failure } from './terminal.mjs';

const CLI = join(REPOSITORY, 'dist', 'src', 'cli', 'berth.js');
const MAIN = join(REPOSITORY, 'dist', 'src', 'main.js');

/** The account `up` makes for the person at the keyboard; the development login of that name is linked to it. */
const ACCOUNT = { username: 'developer', email: 'developer@example.test', plan: 'pro' };

/** The platform itself: its command line, its roles and the keys `up` hands out. */
export class Platform {
  /**
   * @param {import('./stack.mjs').Stack} stack
   * @param {Record<string, string>} settings as the roles get them
   */
  constructor(stack, settings) {
    this.stack = stack;
    this.layout = stack.layout;
    this.settings = settings;
    this.port = portSetting(settings, 'PORT', 3000);
    const host = settings.HOST ?? '127.0.0.1';
    const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    this.localUrl = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${this.port}`;
    this.publicUrl = (settings.PUBLIC_URL ?? this.localUrl).replace(/\/$/, '');
    this.env = { ...plainEnvironment(this.layout), NODE_ENV: 'production', ...settings };
  }

  /**
   * Runs the command line and gives what it printed as JSON.
   * @param {string[]} args
   * @param {{ note?: (text: string) => void, advice?: string }} [options]
   */
  async berth(args, { note, advice } = {}) {
    const title = `berth ${args.join(' ')}`;
    const { stdout } = await run(PROJECT_NODE, [CLI, ...args, '--json'], {
      cwd: REPOSITORY,
      env: this.env,
      onLine: note,
      title,
      advice,
    });
    if (stdout.trim() === '') return undefined;
    try {
      return JSON.parse(stdout);
    } catch {
      throw new Failure(`${title} printed no JSON`, { log: stdout.split('\n').slice(-10) });
    }
  }

  /** @returns {import('./supervision.mjs').Service} */
  service() {
    return {
      name: 'berth',
      command: PROJECT_NODE,
      args: ['--enable-source-maps', MAIN],
      env: this.env,
      cwd: REPOSITORY,
      log: join(this.layout.log, 'berth.log'),
      stop: { signal: 'SIGTERM', timeoutMs: 60_000 },
      revision: buildRevision(),
    };
  }

  /** Starts the roles and waits until all they stand on answers. */
  async start() {
    const advice = 'the log says which setting or backing part is at fault; /health/ready names each part';
    const service = this.service();
    const { change } = await this.stack.supervisor.start(service);
    const ready = () => answersOk(`${this.localUrl}/health/ready`);
    await this.stack.supervisor.waitFor(service, ready, { title: 'the platform', timeoutMs: 90_000, advice });
    return change;
  }

  /**
   * The account and keys that `up` prints. Made once; made anew only when the stored ones are not known any more.
   * @returns {Promise<{ account: string, apiKey: string, readOnlyKey: string }>}
   */
  async access() {
    const file = join(this.layout.secrets, 'access.json');
    const stored = readJson(file);
    if (stored && (await this.knows(stored.apiKey)) && (await this.knows(stored.readOnlyKey))) return stored;
    const accounts = await this.berth(['account', 'list']);
    const known = accounts.find((/** @type {any} */ entry) => entry.username === ACCOUNT.username);
    const { username, email, plan } = ACCOUNT;
    const made =
      known ?? (await this.berth(['account', 'create', '--username', username, '--email', email, '--plan', plan]));
    const key = (/** @type {string} */ scopes, /** @type {string} */ name) =>
      this.berth(['key', 'create', '--account', made.id, '--scopes', scopes, '--name', name]);
    const access = {
      account: made.id,
      apiKey: (await key('read,write', 'npm run up')).key,
      readOnlyKey: (await key('read', 'npm run up, read only')).key,
    };
    writeJson(file, access);
    return access;
  }

  /** @param {string} key */
  async knows(key) {
    const response = await fetch(`${this.localUrl}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    // Anything but "unknown key" says nothing against the key.
    return response.status !== 401;
  }
}
