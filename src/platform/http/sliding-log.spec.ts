import { fc } from '../../../test/support/fast-check.js';
import { LocalSlidingLog } from './sliding-log.js';

const WINDOW = 60_000;

/** What the log must do, written down as plainly as possible. */
class Model {
  private accepted: number[] = [];

  hit(now: number, limit: number): boolean {
    const inWindow = this.accepted.filter((at) => now - at < WINDOW).length;
    if (inWindow < limit) this.accepted.push(now);
    return inWindow < limit;
  }
}

const arrivals = fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 70_000 })), {
  minLength: 1,
  maxLength: 400,
});

test('decides as the model does on any arrivals', () => {
  fc.assert(
    fc.property(arrivals, fc.integer({ min: 1, max: 12 }), (pauses, limit) => {
      let now = 1000;
      const log = new LocalSlidingLog(10, () => now);
      const model = new Model();
      for (const pause of pauses) {
        now += pause;
        expect(log.hit('k', limit, WINDOW).accepted).toBe(model.hit(now, limit));
      }
    }),
  );
});

test('a refused request is told the moment from which one more is accepted, and not a millisecond later', () => {
  let now = 0;
  const log = new LocalSlidingLog(10, () => now);
  for (now = 0; now < 30; now += 10) log.hit('k', 3, WINDOW);
  now = 20_000;
  const { accepted, waitMs } = log.hit('k', 3, WINDOW);
  expect([accepted, waitMs]).toEqual([false, 40_000]);
  now += waitMs - 1;
  expect(log.hit('k', 3, WINDOW).accepted).toBe(false);
  now += 1;
  expect(log.hit('k', 3, WINDOW).accepted).toBe(true);
});

test('keys do not share a budget, and only the most recently seen are kept', () => {
  const log = new LocalSlidingLog(2, () => 0);
  for (const key of ['a', 'b', 'c']) expect(log.hit(key, 1, WINDOW).accepted).toBe(true);
  expect(log.hit('c', 1, WINDOW).accepted).toBe(false);
  expect(log.hit('b', 1, WINDOW).accepted).toBe(false);
  expect(log.hit('a', 1, WINDOW).accepted).toBe(true);
});

test('records that arrive out of order are kept in order', () => {
  let now = 0;
  const log = new LocalSlidingLog(10, () => now);
  for (const at of [30, 10, 20]) log.record('k', at, 3);
  now = 50;
  expect(log.hit('k', 3, WINDOW).waitMs).toBe(WINDOW - 40);
});

test('what is refused elsewhere is refused here until then', () => {
  let now = 0;
  const log = new LocalSlidingLog(10, () => now);
  log.refuse('k', 40);
  now = 39;
  expect(log.hit('k', 3, WINDOW)).toEqual({ accepted: false, hits: 3, waitMs: 1 });
  expect(log.hit('other', 3, WINDOW).accepted).toBe(true);
  now = 40;
  expect(log.hit('k', 3, WINDOW)).toEqual({ accepted: true, hits: 1, waitMs: WINDOW });
});
