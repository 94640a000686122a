import { boundedFindings, type Findings } from './bounded-findings.js';

const report = (findings: number, length: number): Findings => {
  const finding = { element: 'x'.repeat(length), reason: 'a', fix: 'b' };
  const list = Array.from({ length: findings }, () => finding);
  return {
    pages: [
      {
        audits: [
          { id: 'one', findings: list },
          { id: 'two', findings: [finding] },
        ],
      },
    ] as never,
    site: [{ id: 'three', severity: 'error', title: '', findings: list.map((one) => ({ page: 'p', ...one })) }],
  };
};

test('a report that is small enough stays as it is', () => {
  const small = report(50, 10);
  expect(boundedFindings(small)).toBe(small);
});

test('of a larger one each list is cut until it is, and none becomes empty', () => {
  const bounded = boundedFindings(report(50, 1000), 30_000);
  expect(JSON.stringify(bounded).length).toBeLessThanOrEqual(30_000);
  const [{ audits }] = bounded.pages as unknown as [Findings['pages'][0]];
  expect([...audits, ...bounded.site].map(({ findings }) => findings.length)).toEqual([13, 1, 13]);
  expect(boundedFindings(report(50, 1000), 1).site[0]!.findings).toHaveLength(1);
});
