import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createConnection } from 'mysql2/promise';
import { Agent, request } from 'undici';

interface StackFile {
  env: Record<string, string>;
  supervisor: string;
  services: string[];
  noEngine: string | null;
}

const FOLDER = join(import.meta.dirname, '..', '..', '.berth-test');

function readStack(): StackFile {
  try {
    return JSON.parse(readFileSync(join(FOLDER, 'stack.json'), 'utf8')) as StackFile;
  } catch {
    throw new Error('The test stack does not run: start it with `node scripts/test-stack.mjs up`, or use `npm test`.');
  }
}

/** One order to the supervisor of the test stack. */
function order(
  op: 'stop' | 'kill' | 'resume' | 'status',
  name?: string,
): Promise<Record<string, { pid?: number }> | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(readStack().supervisor);
    let text = '';
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.write(`${JSON.stringify({ op, name })}\n`));
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      const answer = JSON.parse(text) as { error?: string; result: Record<string, { pid?: number }> | null };
      if (answer.error) reject(new Error(answer.error));
      else resolve(answer.result);
    });
  });
}

async function until(answers: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      await answers();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

/** One daemon of the test stack, to be taken away and given back. */
class Daemon {
  constructor(
    private readonly name: string,
    private readonly answers: () => Promise<unknown>,
  ) {}

  /** Ends it in an orderly way; it stays away until `start`. */
  async stop(): Promise<void> {
    await order('stop', this.name);
  }

  /** Ends it with SIGKILL; it stays away until `start`. */
  async kill(): Promise<void> {
    await order('kill', this.name);
  }

  /** Starts it again and waits until it answers. */
  async start(): Promise<void> {
    await order('resume', this.name);
    await until(this.answers);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async pid(): Promise<number | undefined> {
    return (await order('status'))?.[this.name]?.pid;
  }
}

async function withRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(env().REDIS_URL ?? '', {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

class RedisDaemon extends Daemon {
  /** Loses all that Redis holds, as a wiped server would. */
  async flush(): Promise<void> {
    await withRedis((redis) => redis.flushall());
  }
}

async function askEngine(): Promise<void> {
  const socketPath = (env().ENGINE_URL ?? '').replace(/^unix:/, '');
  const dispatcher = new Agent({ connect: { socketPath } });
  try {
    const { statusCode, body } = await request('http://engine/1.0', { dispatcher });
    await body.dump();
    if (statusCode !== 200) throw new Error(`The engine answers ${statusCode}.`);
  } finally {
    await dispatcher.destroy();
  }
}

async function askDatabase(uri = env().DATABASE_URL ?? ''): Promise<void> {
  const connection = await createConnection({ uri });
  try {
    await connection.query('SELECT 1');
  } finally {
    connection.destroy();
  }
}

function tenantUrl(): string {
  const { TENANT_DATABASE_PORT, TENANT_DATABASE_USER, TENANT_DATABASE_PASSWORD_FILE } = env();
  const password = readFileSync(TENANT_DATABASE_PASSWORD_FILE ?? '', 'utf8').trim();
  return `mysql://${TENANT_DATABASE_USER}:${password}@127.0.0.1:${TENANT_DATABASE_PORT}`;
}

function env(): Record<string, string> {
  return readStack().env;
}

/** The daemons that tests run on, and their faults. */
export const stack = {
  /** Settings that lead to this stack, as the environment would give them. */
  env,
  /** Why no real engine can run on this machine; null where one does. */
  noEngine: (): string | null => readStack().noEngine,
  mariadb: new Daemon('mariadb', () => askDatabase()),
  /** The server that databases of services live on. */
  tenantMariadb: new Daemon('mariadb-tenant', () => askDatabase(tenantUrl())),
  redis: new RedisDaemon('redis', () => withRedis((redis) => redis.ping())),
  engine: new Daemon('lxd', askEngine),
  identityProvider: new Daemon('identity-provider', async () => {
    await (await fetch(`${env().OIDC_ISSUER}/.well-known/openid-configuration`)).text();
  }),
  /** Password of every login name at the test identity provider. */
  developmentPassword: (): string => readFileSync(env().DEVELOPMENT_PASSWORD_FILE ?? '', 'utf8').trim(),
};
