import { StartBudget } from './start-budget.js';

test('an account starts so many within any minute, whatever others do', () => {
  let now = 0;
  const budget = new StartBudget(3, () => now);
  const take = (accountId: string, seconds: number) => ((now = seconds * 1000), budget.take(accountId));
  const spent = (seconds: number) => ((now = seconds * 1000), budget.spent());
  expect([0, 10, 20].map((seconds) => take('a', seconds))).toEqual([true, true, true]);
  expect(take('a', 59)).toBe(false);
  expect(take('b', 59)).toBe(true);
  expect(spent(59)).toEqual(['a']);
  // The first one is a minute ago, and what was refused counted for nothing.
  expect(spent(60)).toEqual([]);
  expect([60, 61].map((seconds) => take('a', seconds))).toEqual([true, false]);
  expect(take('a', 70)).toBe(true);
});
