import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { createConnection, type Connection } from 'mysql2/promise';
import { Pool } from 'undici';
import { AccountsService } from '../../src/modules/accounts/accounts.service.js';
import { ApiKeysService } from '../../src/modules/accounts/api-keys.service.js';
import { QuotaLock } from '../../src/modules/accounts/quota-lock.service.js';
import { ENTITIES } from '../../src/modules/entities.js';
import { NodesService } from '../../src/modules/nodes/nodes.service.js';
import { readSecretFile, loadConfig } from '../../src/config/config.js';
import type { ApiScope } from '../../src/platform/auth/principal.js';
import { EventRecorder } from '../../src/platform/events/event-recorder.js';
import { Api, type Answer } from './api.js';
import { Browser } from './browser.js';
import { clearHost, TestDatabaseHosts } from './database-host.js';
import { TestDatabase } from './database.js';
import { freePorts } from './free-ports.js';
import { RoleProcess, type RoleName } from './role-process.js';
import { stack } from './stack.js';

export interface BerthOptions {
  /** Roles of the one process that runs. A simulated engine lives in its process, so its users have to share it. */
  roles?: RoleName[];
  /** Instead of `roles`: several processes, each with some. */
  processes?: RoleName[][];
  /** Whether the stack's server for tenants' databases is registered with it. */
  databaseHost?: false;
  /** Settings on top of those that lead to the test stack. The engine is simulated unless `ENGINE_URL` says otherwise. */
  env?: Record<string, string>;
  /** Where its processes run, if not beside the tests: makes it ready for the settings, and says what they are started by. */
  launcher?: (env: Readonly<Record<string, string>>) => Promise<string[]>;
}

export interface TestAccount {
  id: string;
  username: string;
  email: string;
  /** Clear keys. */
  key: string;
  readOnlyKey: string;
  /** The public API with each of them. */
  api: Api;
  readOnly: Api;
}

type Account = Pick<TestAccount, 'id' | 'username'>;

/** Starts the platform on a database, a Redis number and ports of its own. `close` it at the end. */
export async function startBerth(options: BerthOptions = {}): Promise<Berth> {
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const database = await TestDatabase.create(ENTITIES);
    closing.push(() => database.drop());
    const redis = await claimRedis();
    closing.push(() => redis.release());
    const objects = mkdtempSync(join(tmpdir(), 'berth-objects-'));
    closing.push(() => rm(objects, { recursive: true, force: true }));
    closing.push(() => rm(`${objects}.anchor`, { force: true }));
    const ports = await freePorts(10);
    const env = settings({ databaseUrl: database.url, redisUrl: redis.url, objects, ports, given: options.env ?? {} });
    await registerNode(database, env);
    if (options.databaseHost !== false) {
      const hostId = await new TestDatabaseHosts(database.database, env).addOnceFit();
      closing.push(() => clearHost(hostId));
    }
    const groups = options.processes ?? [options.roles ?? ['api', 'worker']];
    const launcher = await options.launcher?.(env);
    const processes = groups.map(
      (roles) => new RoleProcess(roles, roles.includes('api') ? env : withoutMetricsPort(env), launcher),
    );
    const berth = new Berth(env, database, processes, closing);
    for (const one of processes) await one.start();
    return berth;
  } catch (error) {
    for (const close of closing.reverse()) await close().catch(() => undefined);
    throw error;
  }
}

/** A running platform, and what tests do with it. */
export class Berth {
  readonly baseUrl: string;
  readonly internalUrl: string;
  readonly operatorUrl: string;
  /** The public API without a credential. */
  readonly anonymous: Api;
  /** Sees every answer that any client of this platform gets. */
  watch: (answer: Answer) => void = () => undefined;
  private readonly pool: Pool;
  private names = 0;

  constructor(
    readonly env: Record<string, string>,
    readonly database: TestDatabase,
    readonly processes: readonly RoleProcess[],
    private readonly closing: (() => Promise<unknown>)[],
  ) {
    this.baseUrl = env['PUBLIC_URL']!;
    this.internalUrl = env['INTERNAL_URL']!;
    this.operatorUrl = `http://127.0.0.1:${env['METRICS_PORT']}`;
    this.pool = new Pool(this.baseUrl, { connections: 64 });
    this.anonymous = this.client('/api/v1');
  }

  /** A client with these headers, for paths below a prefix of the public listener. */
  client(prefix: string, headers: Record<string, string> = {}): Api {
    return new Api(
      this.pool,
      prefix,
      headers,
      () => this.complaints(),
      (answer) => this.watch(answer),
    );
  }

  withKey(key: string): Api {
    return this.anonymous.with({ authorization: `Bearer ${key}` });
  }

  /** The process that has a role. */
  process(role: RoleName): RoleProcess {
    const found = this.processes.find(({ roles }) => roles.includes(role));
    if (!found) throw new Error(`No process has the role ${role}.`);
    return found;
  }

  /** What its processes complained about. */
  complaints(): string {
    return this.processes.map((one) => one.complaints()).join('\n');
  }

  /** An account with a full and a read-only key. */
  async makeAccount(
    plan = 'pro',
    name = `test-${++this.names}-${randomBytes(3).toString('hex')}`,
  ): Promise<TestAccount> {
    const accounts = new AccountsService(this.database.database);
    const { id, username, email } = await accounts.create({ username: name, email: `${name}@example.test`, plan });
    const key = await this.makeKey({ id }, ['read', 'write']);
    const readOnlyKey = await this.makeKey({ id }, ['read']);
    return { id, username, email, key, readOnlyKey, api: this.withKey(key), readOnly: this.withKey(readOnlyKey) };
  }

  /** A key of the account in clear. */
  async makeKey(account: Pick<Account, 'id'>, scopes: ApiScope[]): Promise<string> {
    return (await this.keys.create(account.id, { scopes }, OPERATOR)).key;
  }

  async makeRevokedKey(account: Pick<Account, 'id'>): Promise<string> {
    const { id, key } = await this.keys.create(account.id, { scopes: ['read', 'write'] }, OPERATOR);
    await this.keys.revoke(account.id, id, OPERATOR);
    return key;
  }

  /** Signs the account in at the identity provider and hands out the panel API with its session. */
  async signIn(account: Account): Promise<Api> {
    const browser = new Browser();
    const callback = `${this.baseUrl}/panel/api/auth/callback`;
    const begin = `${this.baseUrl}/panel/api/auth/login?returnTo=/panel`;
    const form = await browser.follow(begin);
    const login = new URLSearchParams({ login: account.username, password: stack.developmentPassword() });
    const sent = await browser.send(form.url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: login.toString(),
    });
    const onward = new URL(sent.headers.get('location') ?? '', form.url).href;
    const back = await browser.follow(onward, (url) => url.startsWith(callback));
    await browser.send(back.url);
    const session = browser.cookie(this.baseUrl, 'sid');
    if (session === undefined) throw new Error(`The login of ${account.username} led nowhere.\n${this.complaints()}`);
    return this.client('/panel/api', { cookie: `sid=${session}`, ...PANEL_HEADERS });
  }

  /** Stops everything and removes what was made for it. A process that does not end cleanly is a failure. */
  async close(): Promise<void> {
    const faults: unknown[] = [];
    const run = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => faults.push(error));
    await run(this.pool.destroy());
    for (const one of [...this.processes].reverse()) await run(one.stop());
    for (const close of [...this.closing].reverse()) await run(close());
    if (faults.length > 0) throw faults[0];
  }

  private get keys(): ApiKeysService {
    return new ApiKeysService(this.database.database, new EventRecorder(this.database.database), new QuotaLock());
  }
}

/** What a browser sends from the panel's own page. */
export const PANEL_HEADERS = { 'x-panel': '1', 'sec-fetch-site': 'same-origin' };

const OPERATOR = { actor: { type: 'system', id: null }, ip: null } as const;

interface Settings {
  databaseUrl: string;
  redisUrl: string;
  /** Folder of the object store. */
  objects: string;
  ports: number[];
  given: Record<string, string>;
}

function settings({ databaseUrl, redisUrl, objects, ports, given }: Settings): Record<string, string> {
  const [port, internalPort, metricsPort, brokerPort, consolePort, cdnPort, ...pages] = ports;
  const [pagesHttpPort, pagesHttpsPort, pagesOriginPort, caddyLogPort] = pages;
  return {
    ...stack.env(),
    ENGINE_URL: 'simulator:',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    OBJECT_STORE_URL: pathToFileURL(objects).href,
    VAULT_ANCHOR_FILE: `${objects}.anchor`,
    PORT: String(port),
    INTERNAL_PORT: String(internalPort),
    METRICS_PORT: String(metricsPort),
    BROKER_PORT: String(brokerPort),
    CONSOLE_PORT: String(consolePort),
    CONSOLE_URL: `ws://127.0.0.1:${consolePort}`,
    CDN_PORT: String(cdnPort),
    CDN_URL: `http://127.0.0.1:${cdnPort}`,
    PAGES_HTTP_PORT: String(pagesHttpPort),
    PAGES_HTTPS_PORT: String(pagesHttpsPort),
    PAGES_ORIGIN_PORT: String(pagesOriginPort),
    CADDY_LOG_PORT: String(caddyLogPort),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    INTERNAL_URL: `http://127.0.0.1:${internalPort}`,
    RATE_LIMIT_PER_MINUTE: '1000000',
    PANEL_RATE_LIMIT_PER_MINUTE: '1000000',
    CDN_RATE_LIMIT_PER_MINUTE: '1000000',
    // Sites of the tests' own.
    SCAN_ALLOW_ADDRESSES: '127.0.0.1',
    FIREWALL: 'off',
    SFTP_PORT: '0',
    LOG_LEVEL: 'info',
    ...given,
  };
}

/** Each process has an operators' listener; the api's is the one tests ask, the others take any port. */
function withoutMetricsPort(env: Record<string, string>): Record<string, string> {
  return { ...env, METRICS_PORT: '0' };
}

async function registerNode(database: TestDatabase, env: Record<string, string>): Promise<void> {
  const config = loadConfig(env, '/dev/null');
  await new NodesService(database.database).register(config.nodeName, readSecretFile(config, 'nodeTokenFile'));
}

const REDIS_NUMBERS = [15, 14, 13, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

interface ClaimedRedis {
  url: string;
  release: () => Promise<void>;
}

/** A database number of the stack's Redis that no other test uses. MariaDB gives the claim back if this process dies. */
async function claimRedis(): Promise<ClaimedRedis> {
  const holder = await createConnection({ uri: stack.env()['DATABASE_URL'] ?? '' });
  for (const number of REDIS_NUMBERS) {
    if (!(await lock(holder, `berth-test:redis:${number}`))) continue;
    const url = new URL(stack.env()['REDIS_URL'] ?? '');
    url.pathname = `/${number}`;
    await emptyRedis(url.href);
    return {
      url: url.href,
      release: async () => {
        await emptyRedis(url.href);
        await holder.end();
      },
    };
  }
  await holder.end();
  throw new Error('All database numbers of the test Redis are in use.');
}

async function lock(holder: Connection, name: string): Promise<boolean> {
  const [rows] = await holder.query('SELECT GET_LOCK(?, 0) AS held', [name]);
  return Number((rows as { held: unknown }[])[0]?.held) === 1;
}

async function emptyRedis(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.flushdb();
  } finally {
    redis.disconnect();
  }
}
