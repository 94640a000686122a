import type { Redis as Client } from 'ioredis';
import type { Decision } from './sliding-log.js';

/**
 * Each log is a list, newest first, of the moments requests were accepted. One call decides on a batch: a key per client, with
 * its limit, its window and how many requests there are. A moment given by the caller takes the place of Redis's own clock. A
 * clock that was set back must neither lock anybody out nor open the window.
 */
const SCRIPT = `
local clock = tonumber(ARGV[1])
if not clock then
  local time = redis.call('TIME')
  clock = time[1] * 1000 + math.floor(time[2] / 1000)
end
local function decide(key, limit, window, count)
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
  local accepted = math.max(0, math.min(count, limit - hits))
  if accepted > 0 then
    local moments = {}
    for i = 1, accepted do moments[i] = now end
    redis.call('LPUSH', key, unpack(moments))
    redis.call('PEXPIRE', key, window)
  end
  local free = now
  if accepted < count then free = tonumber(redis.call('LINDEX', key, limit - 1)) end
  return accepted, hits, oldest + window - now, free + window - now
end
local answers = {}
for i, key in ipairs(KEYS) do
  local limit, window, count = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  answers[4 * i - 3], answers[4 * i - 2], answers[4 * i - 1], answers[4 * i] = decide(key, limit, window, count)
end
return answers
`;

type Command = (keys: number, ...keysAndArguments: (string | number)[]) => Promise<number[]>;

interface Waiting {
  resolve: (decision: Decision) => void;
  reject: (error: unknown) => void;
}

/** The requests of one client that are decided on together, in the order they came. */
interface Group {
  key: string;
  limit: number;
  windowMs: number;
  waiting: Waiting[];
}

/** Requests that one call decides on. */
const MAX_BATCH = 256;

/** Where the moment of a request comes from: Redis's clock, which all processes share, or a given one. */
export type LogClock = 'redis' | (() => number);

/** Exact sliding log that all processes share. What arrives in one turn of the event loop is one script call. */
export class RedisSlidingLog {
  private readonly command: Command;
  private groups = new Map<string, Group>();
  private waiting = 0;
  private scheduled = false;

  constructor(
    client: Client,
    private readonly clock: LogClock = 'redis',
  ) {
    client.defineCommand('berthSlidingLog', { lua: SCRIPT });
    this.command = (client as unknown as { berthSlidingLog: Command }).berthSlidingLog.bind(client);
  }

  hit(key: string, limit: number, windowMs: number): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const name = `${key} ${limit} ${windowMs}`;
      const group = this.groups.get(name) ?? { key, limit, windowMs, waiting: [] };
      if (group.waiting.push({ resolve, reject }) === 1) this.groups.set(name, group);
      if (++this.waiting === MAX_BATCH) this.flush();
      if (this.scheduled) return;
      this.scheduled = true;
      setImmediate(() => {
        this.scheduled = false;
        this.flush();
      });
    });
  }

  private flush(): void {
    if (this.waiting === 0) return;
    const groups = [...this.groups.values()];
    this.groups = new Map();
    this.waiting = 0;
    void this.send(groups);
  }

  private async send(groups: Group[]): Promise<void> {
    const now = this.clock === 'redis' ? '' : this.clock();
    try {
      const answers = await this.command(
        groups.length,
        ...groups.map(({ key }) => key),
        now,
        ...groups.flatMap(({ limit, windowMs, waiting }) => [limit, windowMs, waiting.length]),
      );
      groups.forEach(({ waiting }, i) => settle(waiting, answers.slice(4 * i, 4 * i + 4)));
    } catch (error) {
      for (const { waiting } of groups) for (const { reject } of waiting) reject(error);
    }
  }
}

/** The first ones are accepted, as many as the log took. */
function settle(waiting: Waiting[], [taken = 0, before = 0, waitMs = 0, refusedMs = 0]: number[]): void {
  waiting.forEach(({ resolve }, i) => {
    if (i < taken) resolve({ accepted: true, hits: before + i + 1, waitMs });
    else resolve({ accepted: false, hits: before + taken, waitMs: refusedMs });
  });
}
