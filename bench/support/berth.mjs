import { execFile, spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';

const ROOT = join(import.meta.dirname, '..', '..');
const CLI = join(ROOT, 'dist', 'src', 'cli', 'berth.js');
const MAIN = join(ROOT, 'dist', 'src', 'main.js');
const run = promisify(execFile);

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Waits until `condition` answers something, at most `seconds`. */
export async function until(condition, seconds = 60) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > deadline) throw new Error('waited too long');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * The platform for a benchmark: real roles in one process of its own, on a fresh database of the stack. The rate limit is
 * on and counts, only high enough to let the load through.
 */
export class BenchBerth {
  static async start(stackEnv, settings = {}) {
    const berth = new BenchBerth();
    berth.name = `bench_${Math.random().toString(36).slice(2, 10)}`;
    berth.server = stackEnv.DATABASE_URL;
    await berth.onServer(`CREATE DATABASE ${berth.name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci`);
    const [port, internalPort, metricsPort, consolePort, cdnPort, pagesHttpPort, pagesOriginPort] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    berth.url = `http://127.0.0.1:${port}`;
    berth.env = {
      PATH: process.env.PATH,
      ...stackEnv,
      NODE_ENV: 'production',
      DATABASE_URL: new URL(`/${berth.name}`, stackEnv.DATABASE_URL).href,
      PORT: String(port),
      INTERNAL_PORT: String(internalPort),
      METRICS_PORT: String(metricsPort),
      CONSOLE_PORT: String(consolePort),
      PAGES_HTTP_PORT: String(pagesHttpPort),
      PAGES_ORIGIN_PORT: String(pagesOriginPort),
      CONSOLE_URL: `ws://127.0.0.1:${consolePort}`,
      CDN_PORT: String(cdnPort),
      CDN_URL: `http://127.0.0.1:${cdnPort}`,
      INTERNAL_URL: `http://127.0.0.1:${internalPort}`,
      PUBLIC_URL: berth.url,
      SFTP_PORT: '0',
      FIREWALL: 'off',
      PORT_RANGE: '31000-31999',
      RATE_LIMIT_PER_MINUTE: '1000000',
      CDN_RATE_LIMIT_PER_MINUTE: '10000000',
      ...settings,
    };
    await berth.cli('migrate');
    await berth.cli('engine', 'setup');
    await berth.cli('node', 'register');
    const { id } = await berth.cli(
      'account',
      'create',
      '--username',
      'bench',
      '--email',
      'bench@example.test',
      '--plan',
      'pro',
    );
    await berth.cli('plan', 'set', 'pro', 'servers=100', 'ram=100000', 'disk=1000000', 'cpu=100000');
    berth.key = (await berth.cli('key', 'create', '--account', id, '--scopes', 'read,write')).key;
    await berth.launch();
    return berth;
  }

  async launch() {
    this.folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
    this.env.OBJECT_STORE_URL ??= `file://${join(this.folder, 'objects')}`;
    this.child = spawn(process.execPath, [MAIN], {
      env: this.env,
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    // A benchmark that fails would wait for it otherwise.
    process.once('exit', () => this.child.kill('SIGKILL'));
    this.child.stdout.pipe(createWriteStream(join(this.folder, 'log')));
    await until(async () => {
      if (this.child.exitCode !== null) throw new Error('the platform did not start');
      return fetch(`${this.url}/health/ready`).then(
        (response) => response.ok,
        () => false,
      );
    });
  }

  async cli(...args) {
    const { stdout } = await run(process.execPath, [CLI, ...args, '--json'], { env: this.env, cwd: tmpdir() });
    return JSON.parse(stdout);
  }

  async call(method, path, body) {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(90_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Ends the process and removes what it left, the services first. */
  async stop() {
    for (const { id } of await this.call('GET', '/servers')) await this.call('DELETE', `/servers/${id}`);
    const { containers } = await this.call('GET', '/lxc');
    for (const { id } of containers) await this.call('DELETE', `/lxc/${id}`);
    const left = 'SELECT (SELECT COUNT(*) FROM servers) + (SELECT COUNT(*) FROM machines) AS n';
    await until(async () => Number((await this.query(left))[0].n) === 0, 120);
    this.child.kill('SIGTERM');
    await new Promise((resolve) => this.child.once('exit', resolve));
    await this.onServer(`DROP DATABASE ${this.name}`);
    rmSync(this.folder, { recursive: true });
  }

  async query(sql) {
    const connection = await createConnection({ uri: this.env.DATABASE_URL });
    try {
      return (await connection.query(sql))[0];
    } finally {
      await connection.end();
    }
  }

  async onServer(statement) {
    const connection = await createConnection({ uri: this.server });
    try {
      await connection.query(statement);
    } finally {
      await connection.end();
    }
  }
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
