import { randomBytes } from 'node:crypto';
import type { Redis as Client } from 'ioredis';

/** Those who hold a place, by when it falls free. The clock is Redis's own, which all processes share. */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`;

type Take = (key: string, places: number, leaseMs: number, holder: string) => Promise<number>;

/**
 * How many may be at something at once in all processes together. Nobody renews a place: the lease is longer than whatever is
 * done in one, and what a process that died held falls free at its end.
 */
export class SharedPlaces {
  private readonly command: Take;

  constructor(
    private readonly client: Client,
    private readonly leaseMs: number,
  ) {
    client.defineCommand('berthTakePlace', { lua: TAKE, numberOfKeys: 1 });
    this.command = (client as unknown as { berthTakePlace: Take }).berthTakePlace.bind(client);
  }

  /** What gives the place back; null while all are taken. Throws while Redis is away. */
  async take(key: string, places: number): Promise<(() => Promise<void>) | null> {
    const holder = randomBytes(12).toString('hex');
    if ((await this.command(key, places, this.leaseMs, holder)) !== 1) return null;
    return async () => void (await this.client.zrem(key, holder));
  }
}
