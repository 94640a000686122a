import { Controller, Get, Post, UseGuards } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedisSlidingLog } from '../../../src/platform/http/redis-sliding-log.js';
import { TestDatabase } from '../../support/database.js';
import { RedisServer } from '../../support/redis-server.js';
import { IdempotencyKey } from '../../../src/platform/http/idempotency-key.entity.js';
import { type KernelApp, NameGuard, startKernelApp } from './kernel-app.js';
import { sendRaw } from './raw-request.js';

const LIMIT = 120;
const WINDOW = 60_000;

@Controller('api/v1/things')
@UseGuards(NameGuard)
class ThingsController {
  @Get()
  list(): object[] {
    return [];
  }

  @Post()
  make(): object {
    return {};
  }
}

let redis: RedisServer;
let db: TestDatabase;

beforeAll(async () => {
  [redis, db] = await Promise.all([RedisServer.start(), TestDatabase.create([IdempotencyKey])]);
});

afterAll(async () => {
  await db.drop();
  await redis.close();
});

describe('the log in Redis', () => {
  let now = 1_700_000_000_000;
  let log: RedisSlidingLog;
  let client: ReturnType<RedisServer['connect']>;

  beforeAll(() => {
    client = redis.connect();
    log = new RedisSlidingLog(client, () => now);
  });

  afterAll(() => client.disconnect());

  /** Deterministic, so that a failure can be run again. */
  function random(seed: number): () => number {
    let state = seed;
    return () => {
      state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
      return state / 4_294_967_296;
    };
  }

  test('10,000 random arrivals are decided as a plain model does', async () => {
    const next = random(7);
    let accepted: number[] = [];
    let most = 0;
    for (let i = 0; i < 10_000; i++) {
      // Bursts, steady traffic above the limit, pauses that just reach or miss the window's end.
      const kind = next();
      now +=
        kind < 0.6
          ? 0
          : kind < 0.9
            ? Math.floor(next() * 900)
            : kind < 0.99
              ? Math.floor(next() * 5000)
              : 59_990 + Math.floor(next() * 20);
      accepted = accepted.filter((at) => now - at < WINDOW);
      const expected = accepted.length < LIMIT;
      const decision = await log.hit('oracle', LIMIT, WINDOW);
      expect([i, decision.accepted]).toEqual([i, expected]);
      if (expected) accepted.push(now);
      else expect(decision.waitMs).toBe(accepted[0]! + WINDOW - now);
      most = Math.max(most, accepted.length);
    }
    expect(most).toBe(LIMIT);
  });

  test('a batch is decided in order, key by key', async () => {
    const decisions = await Promise.all(
      Array.from({ length: 600 }, (_, i) => log.hit(`batch:${i % 2}`, LIMIT, WINDOW)),
    );
    for (const half of [0, 1]) {
      const own = decisions.filter((_, i) => i % 2 === half).map(({ accepted }) => accepted);
      expect(own).toEqual([...Array<boolean>(LIMIT).fill(true), ...Array<boolean>(300 - LIMIT).fill(false)]);
    }
  });

  test('what comes at once is decided as it would be one after the other', async () => {
    const next = random(11);
    for (let i = 0; i < 200; i++) {
      now += Math.floor(next() * 20_000);
      const keys = Array.from({ length: Math.floor(next() * 90) }, () => (next() < 0.7 ? 'a' : 'b'));
      const limitOf = (key: string): number => (key === 'a' ? LIMIT : 7);
      const together = await Promise.all(keys.map((key) => log.hit(`together:${key}`, limitOf(key), WINDOW)));
      const alone: unknown[] = [];
      for (const key of keys) alone.push(await log.hit(`alone:${key}`, limitOf(key), WINDOW));
      expect(together).toEqual(alone);
    }
  });

  test('a limit that was lowered meanwhile holds for what comes at once', async () => {
    for (let i = 0; i < 5; i++, now += 1000) await log.hit('lowered', 5, WINDOW);
    const decisions = await Promise.all([1, 2].map(() => log.hit('lowered', 3, WINDOW)));
    // Three of them are still in the window until the third newest has left it.
    const refused = { accepted: false, hits: 5, waitMs: WINDOW - 3000 };
    expect(decisions).toEqual([refused, refused]);
  });

  test('a clock that is set back neither opens the window nor locks out for longer than one', async () => {
    for (let i = 0; i < 3; i++) await log.hit('clock', 3, WINDOW);
    now -= 10_000;
    expect((await log.hit('clock', 3, WINDOW)).accepted).toBe(false);
    now -= 3_600_000;
    expect((await log.hit('clock', 3, WINDOW)).accepted).toBe(true);
  });

  test('a key leaves Redis once its window is over', async () => {
    await log.hit('gone', 3, 50);
    while (await client.exists('gone')) await sleep(10);
  });

  test('Redis’s own clock is used in production', async () => {
    const real = new RedisSlidingLog(client);
    await real.hit('real', 3, WINDOW);
    expect(Math.abs(Number(await client.lindex('real', 0)) - Date.now())).toBeLessThan(5000);
  });
});

describe('the limit of the public surface', () => {
  let one: KernelApp;
  let two: KernelApp;

  const settings = (more: Record<string, string> = {}) => ({
    DATABASE_URL: db.url,
    REDIS_URL: redis.url,
    TRUSTED_PROXIES: '127.0.0.1',
    ...more,
  });
  const get = (app: KernelApp, address: string, path = '/api/v1/things', init: RequestInit = {}) =>
    fetch(app.url + path, {
      ...init,
      headers: { authorization: 'Bearer usr_1', 'x-forwarded-for': address, ...init.headers },
    });
  const statuses = async (answers: Promise<Response>[]) => {
    const counts: Record<number, number> = {};
    for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };

  beforeAll(async () => {
    [one, two] = await Promise.all([
      startKernelApp(settings(), [ThingsController]),
      startKernelApp(settings(), [ThingsController]),
    ]);
    // Redis has to be connected first: a process without it has a budget of its own.
    for (const app of [one, two])
      await until(async () => (await get(app, '198.51.100.99')).headers.get('ratelimit') !== null);
  });

  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
  });

  test('two processes share it: of 300 requests at once 120 pass', async () => {
    const answers = Array.from({ length: 300 }, (_, i) => get(i % 2 ? one : two, '198.51.100.1'));
    expect(await statuses(answers)).toEqual({ 200: LIMIT, 429: 300 - LIMIT });
  });

  test('a process that was told to refuse begins nothing for those that come after', async () => {
    const address = '198.51.100.11';
    await Promise.all(Array.from({ length: LIMIT }, () => get(one, address)));
    expect((await get(two, address)).status).toBe(429);
    const before = [one.anticipated(), two.anticipated()];
    expect(await statuses(Array.from({ length: 40 }, (_, i) => get(i % 2 ? one : two, address)))).toEqual({ 429: 40 });
    expect([one.anticipated(), two.anticipated()]).toEqual(before);
  });

  test('unknown paths, wrong methods, refused keys and any spelling of the path count', async () => {
    const address = '198.51.100.2';
    const kinds = [
      () => get(one, address, '/api/v1/nothing'),
      () => get(one, address, '/api/v1/things', { method: 'DELETE' }),
      () => get(one, address, '/api/v1/things', { headers: { authorization: 'Bearer nobody' } }),
      () => get(one, address, '/API/V1/things'),
      () => get(one, address, '/api/v1/%zz'),
      () => get(one, address, '/api/v1'),
    ];
    expect(await statuses(Array.from({ length: 120 }, (_, i) => kinds[i % kinds.length]!()))).toEqual({
      200: 20,
      404: 60,
      405: 20,
      401: 20,
    });
    expect(await statuses(kinds.map((send) => send()))).toEqual({ 429: kinds.length });
    expect((await get(one, address, '/api/v10/things')).status).toBe(404);
  });

  test('the whole URL in the request line makes no difference', async () => {
    const address = '198.51.100.3';
    await Promise.all(Array.from({ length: 120 }, () => get(one, address)));
    const answer = await sendRaw(
      one.url,
      `GET http://elsewhere/api/v1/things HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`,
    );
    expect(answer.status).toBe(429);
  });

  test('the answer says how long to wait, and that is when the next one passes', async () => {
    const app = await startKernelApp(settings({ RATE_LIMIT_PER_MINUTE: '1' }), [ThingsController]);
    try {
      const address = '198.51.100.4';
      const client = redis.connect();
      await until(
        async () => (await get(app, address)).status === 200 && (await client.exists(`rl:default:${address}`)) === 1,
      );
      const acceptedAt = Number(await client.lindex(`rl:default:${address}`, 0));
      client.disconnect();
      const refused = await get(app, address);
      const retryAfter = Number(refused.headers.get('retry-after'));
      expect(refused.status).toBe(429);
      expect(retryAfter).toBe(Math.ceil((acceptedAt + WINDOW - Date.now()) / 1000));
      expect(refused.headers.get('ratelimit-policy')).toBe('"default";q=1;w=60');
      expect(refused.headers.get('ratelimit')).toBe(`"default";r=0;t=${retryAfter}`);
      expect(refused.headers.get('content-type')).toBe('application/problem+json');
      expect(await refused.json()).toMatchObject({
        status: 429,
        code: 'rate_limited',
        requestId: refused.headers.get('x-request-id'),
      });
    } finally {
      await app.close();
    }
  });

  test('is decided before a byte of the body is read, whatever its size', async () => {
    const address = '198.51.100.5';
    await Promise.all(Array.from({ length: 120 }, () => get(one, address)));
    const head = `POST /api/v1/things HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\n`;
    expect((await sendRaw(one.url, `${head}Content-Length: 1000000000000\r\n\r\n{`)).status).toBe(429);
    const asking = await sendRaw(one.url, `${head}Content-Length: 50000000\r\nExpect: 100-continue\r\n\r\n`);
    expect([asking.status, asking.interim]).toEqual([429, []]);
    const expecting = await sendRaw(one.url, `${head}Content-Length: 0\r\nExpect: much\r\n\r\n`);
    expect(expecting.status).toBe(429);
  });

  test('an IPv6 network has one budget, its neighbour another', async () => {
    await Promise.all(Array.from({ length: 120 }, (_, i) => get(one, `2001:db8:1:2::${i.toString(16)}`)));
    expect((await get(one, '2001:db8:1:2:ffff::1')).status).toBe(429);
    expect((await get(one, '2001:db8:1:3::1')).status).toBe(200);
  });

  test('who is not a trusted proxy cannot make up addresses', async () => {
    const app = await startKernelApp(settings({ TRUSTED_PROXIES: '' }), [ThingsController]);
    try {
      const counts = await statuses(Array.from({ length: 130 }, (_, i) => get(app, `203.0.113.${i}`)));
      expect(counts[429]).toBeGreaterThanOrEqual(10);
    } finally {
      await app.close();
    }
  });

  describe('while Redis is away', () => {
    /** Sends in waves until told to stop; keeps statuses and times. */
    async function load(app: KernelApp, address: () => string, work: () => Promise<void>) {
      let going = true;
      const seen: { status: number; at: number; ms: number }[] = [];
      const client = async (): Promise<void> => {
        while (going) {
          const started = performance.now();
          const { status } = await get(app, address());
          const at = performance.now();
          seen.push({ status, at, ms: at - started });
        }
      };
      const clients = Array.from({ length: 10 }, client);
      await work();
      going = false;
      await Promise.all(clients);
      return seen;
    }

    const requests = (app: KernelApp, address: string, count: number) =>
      statuses(Array.from({ length: count }, () => get(app, address)));

    test.each([
      [1, 'paused'],
      [2, 'killed'],
    ])(
      '(%i, %s) requests go on, fast, each process keeps the limit, and all share it again after',
      async (net, how) => {
        let n = 0;
        let outage = 0;
        const before = `198.51.101.${net}`;
        expect(await requests(one, before, 100)).toEqual({ 200: 100 });
        const seen = await load(
          one,
          () => `10.${net}.${(n >> 8) & 255}.${n++ & 255}`,
          async () => {
            const enough = n + 300;
            await until(() => Promise.resolve(n > enough));
            if (how === 'paused') redis.pause();
            else await redis.kill();
            outage = performance.now();
            const more = n + 1000;
            await until(() => Promise.resolve(n > more));
          },
        );
        expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200]));
        // Not slower than before but for the few that found out, whatever else this machine does meanwhile.
        const p95 = (times: { ms: number }[]) =>
          times.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor(times.length * 0.95)]!;
        const [calm, away] = [seen.filter(({ at }) => at < outage), seen.filter(({ at }) => at >= outage)];
        expect(p95(away)).toBeLessThan(2 * p95(calm) + 100);
        // What was accepted before the outage still counts in the process that accepted it.
        expect(await requests(one, before, 60)).toEqual({ 200: 20, 429: 40 });
        expect(await requests(one, `198.51.102.${net}`, 130)).toEqual({ 200: 120, 429: 10 });
        expect(await requests(two, `198.51.102.${net}`, 130)).toEqual({ 200: 120, 429: 10 });
        expect(one.log()).toContain('rate limits are kept per process');

        if (how === 'paused') redis.resume();
        else await redis.run();
        await until(async () => sharedAgain(`198.51.103.${net}`));
        expect(await requests(one, before, 5)).toEqual({ 429: 5 });
      },
    );

    /** Both processes count in Redis again: together they accept 120 of 240. */
    let attempt = 0;
    async function sharedAgain(address: string): Promise<boolean> {
      const fresh = `${address.replace(/\.\d+$/, '')}.${100 + attempt++}`;
      await sleep(300);
      const counts = await statuses(Array.from({ length: 240 }, (_, i) => get(i % 2 ? one : two, fresh)));
      return counts[200] === 120;
    }
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('It did not come to that in time.');
    await sleep(10);
  }
}
