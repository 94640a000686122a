import { createLogger } from './logger.js';
import { Health } from './health.js';
import { Metrics } from './metrics.js';
import { OperatorListener } from './operator-listener.js';

const health = new Health();
const metrics = new Metrics();
let listener: OperatorListener;

beforeAll(async () => {
  const log = createLogger({ logLevel: 'fatal' }, { write: () => undefined });
  listener = await OperatorListener.open({ host: '127.0.0.1', port: 0, metrics, health, log });
});

afterAll(() => listener.close());

const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${listener.port}${path}`, { method });

test('tells the numbers of the process and those of its parts', async () => {
  metrics.counter('berth_things_total', 'Things', ['kind']).inc({ kind: 'a' }, 2);
  metrics.counter('berth_things_total', 'Things', ['kind']).inc({ kind: 'a' });
  const text = await (await get('/metrics')).text();
  expect(text).toContain('berth_things_total{kind="a"} 3');
  expect(text).toMatch(/nodejs_eventloop_lag_seconds \d/);
  expect(text).toMatch(/process_resident_memory_bytes \d/);
});

test('is live whatever is away, and ready when nothing critical is', async () => {
  const remove = health.register({ name: 'database', check: () => Promise.reject(new Error('x')), critical: true });
  expect([
    (await get('/health/live')).status,
    (await get('/health/ready')).status,
    (await get('/health')).status,
  ]).toEqual([200, 503, 503]);
  remove();
  health.register({ name: 'engine', check: () => Promise.resolve(), critical: true });
  expect(await (await get('/health/ready')).json()).toMatchObject({ ok: true, parts: [{ name: 'engine', ok: true }] });
});

test('knows nothing else', async () => {
  expect((await get('/')).status).toBe(404);
  expect((await get('/metrics', 'POST')).status).toBe(405);
});
