import { encodeManifest } from '../archive/manifest.js';
import { applyRules, HeaderList } from './answer-headers.js';
import { loadManifest } from './loaded-manifest.js';

type Set = [name: string, value: string | null][];

function applied(path: string, sets: Set[], isPreview = false): [name: string, value: string][] {
  const list = new HeaderList('x.html', '"e"', { at: 0, bytes: 1, hash: '00' }, { encoding: null, byAccept: false });
  const headers = sets.map((set) => ({ set, path: '/*' }));
  applyRules(list, loadManifest(encodeManifest({ files: {}, redirects: [], headers })).headers, path, isPreview);
  const flat = list.list();
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]!] as [string, string]] : []));
}
const bytes = (headers: [string, string][]): number => headers.flat().reduce((sum, { length }) => sum + length, 0);

test('a header that would become too long is left out, and the others are there', () => {
  const headers = applied(`/${'/'.repeat(455)}`, [
    [
      ['X-Long', ':splat'.repeat(330)],
      ['Cache-Control', ':splat'.repeat(330)],
      ['X-Short', 'a'],
    ],
  ]);
  expect(Object.fromEntries(headers)).toMatchObject({
    'X-Short': 'a',
    'Cache-Control': 'public, max-age=0, must-revalidate',
  });
  expect(headers.map(([name]) => name)).not.toContain('X-Long');
});

test('a value takes 8 KiB, however it came about', () => {
  const value = 'x'.repeat(1900);
  const sets = Array.from({ length: 10 }, (): Set => [['X-A', value]]);
  const [[, together] = []] = applied('/', sets).filter(([name]) => name === 'X-A');
  expect(together).toBe(Array(4).fill(value).join(', '));
});

test.each([
  ['of names of their own', (i: number) => `X-${i}`],
  ['of cookies', () => 'Set-Cookie'],
  ['of one name', () => 'X-Same'],
])('all that rules say takes 32 KiB: %s', (_what, name) => {
  const set: Set = Array.from({ length: 125 }, (_, i) => [name(i), ':splat'.repeat(330)]);
  for (const length of [10, 455, 15_000]) {
    const headers = applied(`/${'/'.repeat(length)}`, [set]);
    expect(bytes(headers)).toBeLessThan(33_500);
  }
  const many: Set = Array.from({ length: 30_000 }, (_, i) => [name(i), 'a:splat']);
  expect(bytes(applied('/abc', [many]))).toBeLessThan(33_500);
});

test('cookies stay in lines of their own, all else is said in one', () => {
  const headers = applied('/', [
    [
      ['Set-Cookie', 'a=1'],
      ['X-A', '1'],
    ],
    [
      ['set-cookie', 'b=2; Expires=Mon, 01 Jan 2029 00:00:00 GMT'],
      ['x-a', '2'],
    ],
  ]);
  expect(headers.slice(-3)).toEqual([
    ['Set-Cookie', 'a=1'],
    ['Set-Cookie', 'b=2; Expires=Mon, 01 Jan 2029 00:00:00 GMT'],
    ['X-A', '1, 2'],
  ]);
});

test('what a later rule takes away is gone, and its room is free again', () => {
  const fill = (name: string): Set => Array.from({ length: 100 }, () => [name, 'x'.repeat(1000)]);
  const headers = applied('/', [
    fill('Set-Cookie'),
    [
      ['Set-Cookie', null],
      ['ETag', null],
    ],
    [['X-Last', 'y']],
    fill('X-More'),
  ]);
  const names = headers.map(([name]) => name);
  expect(names).not.toContain('Set-Cookie');
  expect(names).not.toContain('ETag');
  expect(names.slice(-2)).toEqual(['X-Last', 'X-More']);
});
