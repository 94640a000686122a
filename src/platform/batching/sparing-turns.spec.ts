import { setTimeout as delay } from 'node:timers/promises';
import { SparingTurns } from './sparing-turns.js';

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('one piece begins when the one before it has ended and made its pause, whatever became of it', async () => {
  const events: string[] = [];
  const pauses: number[] = [];
  const turns = new SparingTurns(1 / 4, async (ms) => {
    pauses.push(ms);
    events.push('pause begins');
    await delay(5);
    events.push('pause ends');
  });
  const piece = (name: string) =>
    turns.take(() => {
      events.push(name);
      busy(20);
      if (name === 'fails') throw new Error(name);
      return name;
    });
  const ends = await Promise.allSettled([piece('first'), piece('fails'), piece('last')]);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  const pause = ['pause begins', 'pause ends'];
  expect(events.slice(0, 7)).toEqual(['first', ...pause, 'fails', ...pause, 'last']);
  for (const ms of pauses) expect(ms).toBeGreaterThanOrEqual(59);
});
