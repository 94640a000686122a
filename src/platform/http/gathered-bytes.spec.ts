import { GatheredBytes } from './gathered-bytes.js';

test.each([[1], [3, 16_381, 1], [20_000, 1, 40_000], [0, 5, 0], []])(
  'pieces of %j bytes come out in their order',
  (...sizes) => {
    const pieces = (sizes as number[]).map((size, index) => Buffer.alloc(size, index + 1));
    const gathered = new GatheredBytes();
    for (const piece of pieces) {
      const copy = Buffer.from(piece);
      gathered.add(copy);
      // It may be used for the next one.
      copy.fill(0);
    }
    const whole = Buffer.concat(pieces);
    expect(gathered.size).toBe(whole.length);
    expect(gathered.take().equals(whole)).toBe(true);
    expect([gathered.size, gathered.take().length]).toEqual([0, 0]);
  },
);

test('a million pieces of a byte each take little more than a megabyte', () => {
  const gathered = new GatheredBytes();
  const allocated = jest.spyOn(Buffer, 'allocUnsafeSlow');
  const kept = new WeakRef(Buffer.alloc(1));
  gathered.add(kept.deref()!);
  for (let byte = 1; byte < 1_000_000; byte++) gathered.add(Buffer.from([byte & 255]));
  expect(allocated.mock.calls.reduce((sum, [bytes]) => sum + bytes, 0)).toBeLessThan(1_020_000);
});
