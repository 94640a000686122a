import type { Redis as Client } from 'ioredis';
import type { Decision } from './sliding-log.js';

/**
 * Each log is a list, newest first, of the moments requests were accepted. One call decides on a batch: a key with its limit
 * and window per request, in the order they came. A moment given by the caller takes the place of Redis's own clock. A clock
 * that was set back must neither lock anybody out nor open the window.
 */
const SCRIPT = `
local clock = tonumber(ARGV[1])
if not clock then
  local time = redis.call('TIME')
  clock = time[1] * 1000 + math.floor(time[2] / 1000)
end
local function decide(key, limit, window)
  local now = clock
  local hits = redis.call('LLEN', key)
  if hits > 0 then
    local newest = tonumber(redis.call('LINDEX', key, 0))
    if newest - now > window then
      redis.call('DEL', key)
      hits = 0
    elseif newest > now then
      now = newest
    end
  end
  local oldest = now
  while hits > 0 do
    oldest = tonumber(redis.call('LINDEX', key, -1))
    if now - oldest < window then break end
    redis.call('RPOP', key)
    hits = hits - 1
    oldest = now
  end
  if hits >= limit then
    local free = tonumber(redis.call('LINDEX', key, limit - 1))
    return 0, hits, free + window - now
  end
  redis.call('LPUSH', key, now)
  redis.call('PEXPIRE', key, window)
  return 1, hits + 1, oldest + window - now
end
local answers = {}
for i, key in ipairs(KEYS) do
  local accepted, hits, wait = decide(key, tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1]))
  answers[3 * i - 2], answers[3 * i - 1], answers[3 * i] = accepted, hits, wait
end
return answers
`;

type Command = (keys: number, ...keysAndArguments: (string | number)[]) => Promise<number[]>;

interface Waiting {
  key: string;
  limit: number;
  windowMs: number;
  resolve: (decision: Decision) => void;
  reject: (error: unknown) => void;
}

const MAX_BATCH = 256;

/** Where the moment of a request comes from: Redis's clock, which all processes share, or a given one. */
export type LogClock = 'redis' | (() => number);

/** Exact sliding log that all processes share. What arrives in one turn of the event loop is one script call. */
export class RedisSlidingLog {
  private readonly command: Command;
  private waiting: Waiting[] = [];

  constructor(
    client: Client,
    private readonly clock: LogClock = 'redis',
  ) {
    client.defineCommand('berthSlidingLog', { lua: SCRIPT });
    this.command = (client as unknown as { berthSlidingLog: Command }).berthSlidingLog.bind(client);
  }

  hit(key: string, limit: number, windowMs: number): Promise<Decision> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) setImmediate(() => this.flush());
      this.waiting.push({ key, limit, windowMs, resolve, reject });
    });
  }

  private flush(): void {
    const all = this.waiting;
    this.waiting = [];
    for (let start = 0; start < all.length; start += MAX_BATCH) void this.send(all.slice(start, start + MAX_BATCH));
  }

  private async send(batch: Waiting[]): Promise<void> {
    const now = this.clock === 'redis' ? '' : this.clock();
    try {
      const answers = await this.command(
        batch.length,
        ...batch.map(({ key }) => key),
        now,
        ...batch.flatMap(({ limit, windowMs }) => [limit, windowMs]),
      );
      batch.forEach(({ resolve }, i) =>
        resolve({ accepted: answers[3 * i] === 1, hits: answers[3 * i + 1]!, waitMs: answers[3 * i + 2]! }),
      );
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
