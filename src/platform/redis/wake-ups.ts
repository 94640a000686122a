import { Injectable } from '@nestjs/common';
import { EventEmitter } from 'node:events';
import { Redis } from './redis.js';

const CHANNEL = 'berth:changed';

/**
 * Tells those who wait for a record, in any process, that it is worth another look. It may be lost, as when Redis is away,
 * so whoever waits also looks by itself from time to time.
 */
@Injectable()
export class WakeUps {
  private readonly listeners = new EventEmitter().setMaxListeners(0);
  private listens = false;

  constructor(private readonly redis: Redis) {}

  /** Of these records, known by their ids. Call it once the change is committed. */
  async wake(ids: readonly string[]): Promise<void> {
    await this.redis.fast.publish(CHANNEL, ids.join(' ')).catch(() => undefined);
  }

  /** What is told from now on is not missed, also between two waits. `close` it at the end. */
  listen(ids: readonly string[]): WakeUp {
    this.subscribe();
    return new WakeUp(this.listeners, ids);
  }

  private subscribe(): void {
    if (this.listens) return;
    this.listens = true;
    const client = this.redis.createForSubscription();
    client.on('message', (_channel, ids: string) => {
      for (const id of ids.split(' ')) this.listeners.emit(`:${id}`);
    });
    // It subscribes again by itself after every reconnection.
    client.subscribe(CHANNEL).catch(() => undefined);
  }
}

export class WakeUp {
  private woken = false;
  private wakeNow: () => void = () => {};

  constructor(
    private readonly source: EventEmitter,
    private readonly ids: readonly string[],
  ) {
    for (const id of ids) source.on(`:${id}`, this.hear);
  }

  /** Until it is told, the time is up or the signal is aborted, whichever comes first. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.woken && !signal?.aborted) {
      const ended = new AbortController();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        ended.signal.addEventListener('abort', () => clearTimeout(timer));
        signal?.addEventListener('abort', () => resolve(), { signal: ended.signal });
        this.wakeNow = resolve;
      });
      ended.abort();
    }
    this.woken = false;
  }

  close(): void {
    for (const id of this.ids) this.source.off(`:${id}`, this.hear);
  }

  private readonly hear = (): void => {
    this.woken = true;
    this.wakeNow();
  };
}
