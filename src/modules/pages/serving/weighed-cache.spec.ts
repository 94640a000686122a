import { WeighedCache } from './weighed-cache.js';

let made: string[];
const get = (kept: WeighedCache<string>, key: string, weight: number) =>
  kept.get(
    key,
    () => {
      made.push(key);
      return Promise.resolve(key);
    },
    () => weight,
  );

beforeEach(() => {
  made = [];
});

test('what was used last stays, up to the weight', async () => {
  const kept = new WeighedCache<string>(100);
  for (let i = 0; i < 10; i++) await get(kept, `k${i}`, 10);
  expect(get(kept, 'k0', 10)).toBe('k0');
  await get(kept, 'k10', 10);
  expect([kept.peek('k0'), kept.peek('k1'), kept.peek('k2')]).toEqual(['k0', undefined, 'k2']);
});

test('what is heavier than all of the cache pushes out half, and is made once', async () => {
  const kept = new WeighedCache<string>(100);
  for (let i = 0; i < 10; i++) await get(kept, `k${i}`, 10);
  for (let i = 0; i < 5; i++) await get(kept, 'huge', 1000);
  expect(made.filter((key) => key === 'huge')).toHaveLength(1);
  expect(Array.from({ length: 10 }, (_, i) => kept.peek(`k${i}`)).filter(Boolean)).toHaveLength(5);
  await get(kept, 'other', 1000);
  expect([kept.peek('huge'), kept.peek('other')]).toEqual([undefined, 'other']);
});

test('heavy entries have half of it together, and light ones the rest or all', async () => {
  const kept = new WeighedCache<string>(100);
  for (let i = 0; i < 5; i++) await get(kept, `h${i}`, 20);
  expect(['h0', 'h1', 'h2', 'h3', 'h4'].filter((key) => kept.peek(key))).toEqual(['h3', 'h4']);
  for (let i = 0; i < 20; i++) await get(kept, `k${i}`, 10);
  expect(Array.from({ length: 20 }, (_, i) => kept.peek(`k${i}`)).filter(Boolean)).toHaveLength(6);
  expect(['h3', 'h4'].filter((key) => kept.peek(key))).toEqual(['h3', 'h4']);
});

test('an entry that is put again weighs once', () => {
  const kept = new WeighedCache<string>(100);
  for (let i = 0; i < 50; i++) kept.put('k', 'v', 10);
  kept.put('other', 'w', 10);
  expect([kept.peek('k'), kept.peek('other')]).toEqual(['v', 'w']);
});

test('all who ask meanwhile get what is being made, and a failure is not kept', async () => {
  const kept = new WeighedCache<string>(100);
  const [one, other] = [get(kept, 'k', 1), get(kept, 'k', 1)];
  expect(await Promise.all([one, other])).toEqual(['k', 'k']);
  expect(made).toEqual(['k']);
  const fail = () => Promise.reject(new Error('no'));
  await expect(kept.get('f', fail, () => 1)).rejects.toThrow('no');
  expect(await get(kept, 'f', 1)).toBe('f');
});
