import { Health } from './health.js';

const up = { check: () => Promise.resolve(), critical: true };
const down = { check: () => Promise.reject(new Error('10.0.0.1 refused')), critical: true };

test('is not ready while a critical part is away, and says which without saying why', async () => {
  const health = new Health();
  health.register({ name: 'database', ...down });
  health.register({ name: 'engine', ...up });
  const report = await health.report();
  expect(report).toMatchObject({
    ok: false,
    parts: [
      { name: 'database', ok: false },
      { name: 'engine', ok: true },
    ],
  });
  expect(JSON.stringify(report)).not.toContain('10.0.0.1');
});

test('is ready without a part it can do without', async () => {
  const health = new Health();
  health.register({ name: 'queue', ...down, critical: false });
  expect(await health.report()).toMatchObject({ ok: true, parts: [{ name: 'queue', ok: false }] });
});

test('a part that does not answer is away, and holds nobody up', async () => {
  jest.useFakeTimers();
  try {
    const health = new Health();
    health.register({ name: 'engine', check: () => new Promise(() => undefined), critical: true });
    const report = health.report();
    await jest.advanceTimersByTimeAsync(2000);
    expect((await report).ok).toBe(false);
  } finally {
    jest.useRealTimers();
  }
});

test('parts are asked once for many who want to know, and again when they change', async () => {
  const health = new Health();
  const check = jest.fn(() => Promise.resolve());
  const remove = health.register({ name: 'a', check, critical: true });
  await Promise.all([health.report(), health.report(), health.report()]);
  expect(check).toHaveBeenCalledTimes(1);
  remove();
  health.register({ name: 'b', ...up });
  expect((await health.report()).parts.map(({ name }) => name)).toEqual(['b']);
});

test('a check that throws at once is a part that is away', async () => {
  const health = new Health();
  health.register({
    name: 'a',
    check: () => {
      throw new Error('x');
    },
    critical: true,
  });
  expect((await health.report()).ok).toBe(false);
});
