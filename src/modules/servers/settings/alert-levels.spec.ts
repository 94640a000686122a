import { sharesOf, verdictOn } from './alert-levels.js';

test.each([
  [90, false, 89.99, 'stays'],
  [90, false, 90, 'raise'],
  [90, false, 250, 'raise'],
  [90, true, 95, 'stays'],
  [90, true, 85, 'stays'],
  [90, true, 84.99, 'rearm'],
  [100, false, 100, 'raise'],
  [4, true, 2.1, 'stays'],
  [4, true, 1.9, 'rearm'],
  [1, true, 0, 'rearm'],
] as const)('threshold %d, raised %s, at %d percent: %s', (threshold, raised, percent, expected) => {
  expect(verdictOn(threshold, raised, percent)).toBe(expected);
});

describe('shares', () => {
  const server = { ram: 128, cpu: 50 };
  const startedAt = new Date('2026-01-01T00:00:00Z');
  const at = (seconds: number) => new Date(startedAt.getTime() + seconds * 1000);
  const earlier = { cpuNanoseconds: 1e9, cpuReadAt: at(10), programStartedAt: startedAt };
  const now = { memoryBytes: 96 * 1024 * 1024, cpuNanoseconds: 4e9, startedAt };

  test('are of what the service has', () => {
    // 3 s of processor in 10 s are 30 % of a core, which is 60 % of half a core.
    expect(sharesOf(server, earlier, now, at(20))).toEqual({ ram: 75, cpu: 60 });
  });

  test.each([
    ['there is no earlier reading', { ...earlier, cpuNanoseconds: null, cpuReadAt: null }, at(20)],
    ['another program runs now', { ...earlier, programStartedAt: at(-100) }, at(20)],
    ['the earlier reading is old', earlier, at(200)],
    ['no time has passed', earlier, at(10)],
    ['the counter went back', { ...earlier, cpuNanoseconds: 5e9 }, at(20)],
  ])('the processor is not judged when %s', (_why, before, moment) => {
    expect(sharesOf(server, before, now, moment)).toEqual({ ram: 75, cpu: null });
  });
});
