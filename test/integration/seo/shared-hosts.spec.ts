import type { ServerResponse } from 'node:http';
import { SharedPlaces } from '../../../src/platform/redis/shared-places.js';
import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import { setLimits } from '../../support/own-plan.js';
import { RedisServer } from '../../support/redis-server.js';
import { html } from '../../support/seo-pages.js';
import { until } from '../../support/until.js';
import { FixtureSite } from './fixture-site.js';

let redis: RedisServer;

beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis?.close());

describe('places that processes share', () => {
  test('are given out once, whoever asks, and again when they are given back', async () => {
    const clients = [redis.connect(), redis.connect(), redis.connect()];
    const all = clients.map((client) => new SharedPlaces(client, 60_000));
    const taken = await Promise.all(Array.from({ length: 30 }, (_, at) => all[at % 3]!.take('one', 4)));
    const held = taken.filter((giveBack) => giveBack !== null);
    expect(held).toHaveLength(4);
    expect(await all[0]!.take('another', 4)).not.toBeNull();
    await held[0]!();
    // Twice given back is once given back.
    await held[0]!();
    const again = await Promise.all(all.map((places) => places.take('one', 4)));
    expect(again.filter((giveBack) => giveBack !== null)).toHaveLength(1);
    for (const client of clients) client.disconnect();
  });

  test('fall free when whoever held them died, each at its own time', async () => {
    const [dying, living] = [redis.connect(), redis.connect()];
    const short = new SharedPlaces(dying, 300);
    expect(await short.take('lost', 2)).not.toBeNull();
    expect(await new SharedPlaces(living, 60_000).take('lost', 2)).not.toBeNull();
    dying.disconnect();
    const places = new SharedPlaces(living, 60_000);
    expect(await until('its place is free', () => places.take('lost', 2))).not.toBeNull();
    expect(await places.take('lost', 2)).toBeNull();
    living.disconnect();
  });
});

describe('a host that scans of two processes ask', () => {
  let site: FixtureSite;
  let berths: Berth[];
  let people: TestAccount[];

  beforeAll(async () => {
    site = await FixtureSite.start();
    const start = (): Promise<Berth> =>
      startBerth({ roles: ['api'], databaseHost: false, env: { REDIS_URL: redis.url } });
    berths = [await start(), await start()];
    // Two scans each at once: four of one process.
    people = await Promise.all([0, 0, 1, 1].map((at) => berths[at]!.makeAccount()));
    for (const [at, one] of people.entries()) await setLimits(berths[at < 2 ? 0 : 1]!, one, { scans: 100 });
  });
  afterAll(async () => {
    await Promise.allSettled(berths?.map((berth) => berth.close()) ?? []);
    await site?.stop();
  });

  /** Eight scans, four in each process, and the requests of theirs that wait for an answer. */
  function scanning(): { waiting: ServerResponse[]; answers: Promise<number[]> } {
    const waiting: ServerResponse[] = [];
    site.become({ '/': (_request, response) => void waiting.push(response) });
    const posts = people.flatMap(({ api }) => [1, 2].map(() => api.post('/seo/scan', { url: site.url })));
    return { waiting, answers: Promise.all(posts.map(async (post) => (await post).status)) };
  }

  async function allUnderWay(): Promise<void> {
    const underWay = async (berth: Berth): Promise<number> => {
      const [row] = await berth.database.query('SELECT COUNT(*) AS n FROM seo_scan_uses WHERE NOT settled');
      return Number(row!['n']);
    };
    await until('all are under way', async () => (await underWay(berths[0]!)) + (await underWay(berths[1]!)) === 8);
  }

  async function answered(waiting: ServerResponse[], answers: Promise<number[]>): Promise<number[]> {
    let ended = false;
    void answers.finally(() => (ended = true)).catch(() => undefined);
    await until('all are answered', () => {
      for (const response of waiting.splice(0)) response.writeHead(200, { 'content-type': 'text/html' }).end(html());
      return ended;
    });
    return answers;
  }

  test('gets four requests at a time from both together', async () => {
    const { waiting, answers } = scanning();
    await until('four wait', () => waiting.length >= 4);
    await allUnderWay();
    // Each has its turn, so that one more would have come by now.
    for (const { api } of people) (await api.get('/seo/quota')).expect(200);
    expect(waiting.length).toBe(4);
    expect(await answered(waiting, answers)).toEqual(Array(8).fill(201));
    expect(site.mostAtOnce).toBe(4);
  });

  test('is scanned on while Redis is away, with the limit of each process', async () => {
    await redis.kill();
    try {
      const { waiting, answers } = scanning();
      await until('eight wait', () => waiting.length === 8);
      expect(await answered(waiting, answers)).toEqual(Array(8).fill(201));
    } finally {
      await redis.run();
    }
  });
});
