import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Redis as Client, type RedisOptions } from 'ioredis';
import { Config } from '../../config/config.js';
import { Health } from '../observability/health.js';
import { AppLogger } from '../observability/logger.js';

/** What a connection is for; decides how it behaves while Redis is away. */
type Purpose = 'fast' | 'patient';

const OPTIONS: Record<Purpose, RedisOptions> = {
  // For what has an answer without Redis (rate limit, caches): a command fails at once instead of waiting.
  fast: { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 2000 },
  // For the queue: Bull asks for connections that wait, also during blocking commands.
  patient: { maxRetriesPerRequest: null, enableReadyCheck: false },
};

const FIRST_CONTACT_MS = 2000;

/** The connections to Redis. They reconnect by themselves for as long as the process lives. */
@Injectable()
export class Redis implements OnModuleInit, OnApplicationShutdown {
  /** Commands on it fail at once while Redis is away. */
  readonly fast: Client;
  private readonly url: string;
  /** Those that have ended too: Bull connects one of its own again while it closes. */
  private readonly clients = new Set<Client>();
  private unregister: (() => void) | undefined;
  private complained = false;

  constructor(
    config: Config,
    private readonly log: AppLogger,
    private readonly health: Health,
  ) {
    this.url = config.require('redisUrl');
    this.fast = this.connect('fast');
  }

  async onModuleInit(): Promise<void> {
    this.unregister = this.health.register({ name: 'queue', critical: false, check: () => this.fast.ping() });
    await this.firstContact();
  }

  /** For Bull's `createClient`. The caller's closing is enough, ours on shutdown does no harm. */
  createForQueue(): Client {
    return this.connect('patient');
  }

  /** A connection in subscriber mode takes no other commands. */
  createForSubscription(): Client {
    return this.connect('patient');
  }

  async onApplicationShutdown(): Promise<void> {
    this.unregister?.();
    for (const client of this.clients) client.disconnect();
  }

  /** Until the connection stands every command fails; a process that serves so early would refuse its first logins. */
  private firstContact(): Promise<void> {
    if (this.fast.status === 'ready') return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.fast.off('ready', done);
        this.fast.off('error', done);
        resolve();
      };
      const timer = setTimeout(done, FIRST_CONTACT_MS);
      this.fast.on('ready', done);
      this.fast.on('error', done);
    });
  }

  private connect(purpose: Purpose): Client {
    const client = new Client(this.url, {
      ...OPTIONS[purpose],
      connectTimeout: 2000,
      keepAlive: 10_000,
      // Always again, soon: what is left undone meanwhile is picked up by sweepers.
      retryStrategy: (attempt) => Math.min(50 * attempt, 1000),
    });
    client.on('error', (error: Error) => this.complain(error));
    client.on('ready', () => {
      if (this.complained) this.log.info('Redis is back');
      this.complained = false;
    });
    this.clients.add(client);
    return client;
  }

  /** ioredis reports each attempt; operators want one line per outage. */
  private complain(error: Error): void {
    if (this.complained) return;
    this.complained = true;
    this.log.warn({ code: (error as NodeJS.ErrnoException).code ?? error.name }, 'Redis is away');
  }
}
