import { StartBudget } from './start-budget.js';

test('an account starts so many within any minute, whatever others do', () => {
  const budget = new StartBudget(3);
  const at = (seconds: number) => 1_700_000_000_000 + seconds * 1000;
  expect([0, 10, 20].map((seconds) => budget.take('a', at(seconds)))).toEqual([true, true, true]);
  expect(budget.take('a', at(59))).toBe(false);
  expect(budget.take('b', at(59))).toBe(true);
  expect(budget.spent(at(59))).toEqual(['a']);
  // The first one is a minute ago, and what was refused counted for nothing.
  expect(budget.spent(at(60))).toEqual([]);
  expect([60, 61].map((seconds) => budget.take('a', at(seconds)))).toEqual([true, false]);
  expect(budget.take('a', at(70))).toBe(true);
});
