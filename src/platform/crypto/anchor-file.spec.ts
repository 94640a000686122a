import { appendFileSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AnchorFile } from './anchor-file.js';

const folder = mkdtempSync(join(tmpdir(), 'berth-anchor-'));
let made = 0;
const newFile = (): string => join(folder, `${++made}`);
afterAll(() => rmSync(folder, { recursive: true }));

const A = 'srv:srv_a';
const B = 'acct:usr_b';

test('it only ever rises, for every process that shares the file, and outlives them', async () => {
  const file = newFile();
  const [one, other] = [new AnchorFile(file), new AnchorFile(file)];
  expect(one.floors([A])).toEqual([0]);
  await Promise.all([one.raise(A, 3), one.raise(A, 2), other.raise(B, 7)]);
  await other.raise(A, 1);
  for (const anchor of [one, other, new AnchorFile(file)]) expect(anchor.floors([A, B])).toEqual([3, 7]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a line that a dying process left half written does no harm to the next', async () => {
  const file = newFile();
  await new AnchorFile(file).raise(A, 12);
  appendFileSync(file, `${A} 99`);
  const anchor = new AnchorFile(file);
  await anchor.raise(B, 4);
  expect(anchor.floors([B])).toEqual([4]);
  appendFileSync(file, 'garbage\nsrv:srv_a x\n\n');
  expect(new AnchorFile(file).floors([B])).toEqual([4]);
});

test('what is forgotten stays so', async () => {
  const file = newFile();
  const anchor = new AnchorFile(file);
  await anchor.raise(A, 5);
  await anchor.forget(A);
  await anchor.raise(A, 6);
  expect(new AnchorFile(file).floors([A])).toEqual([0]);
});

test('a file that has grown is written anew, and nothing is lost for those who add meanwhile', async () => {
  const file = newFile();
  const anchors = [new AnchorFile(file, 2000), new AnchorFile(file, 2000), new AnchorFile(file, 2000)];
  const names = Array.from({ length: 12 }, (_, index) => `srv:srv_${index}`);
  for (let epoch = 1; epoch <= 40; epoch++)
    await Promise.all(names.map((name, index) => anchors[index % 3]!.raise(name, epoch)));
  for (const anchor of anchors) anchor.floors(names);
  await Promise.all(anchors.map((anchor) => anchor.raise(B, 1)));
  expect(new AnchorFile(file).floors(names)).toEqual(names.map(() => 40));
  expect(readFileSync(file).length).toBeLessThan(12_000);
});

const asRoot = process.getuid?.() === 0 ? test : test.skip;
asRoot('what root writes stays with whom it belongs to: the owner of the folder, or of the file', async () => {
  const home = newFile();
  mkdirSync(home);
  chownSync(home, 12_345, 12_346);
  const file = join(home, 'anchor');
  const anchor = new AnchorFile(file, 500);
  await anchor.raise(A, 1);
  const [made, owner] = [statSync(file), () => [statSync(file).uid, statSync(file).gid]];
  expect(owner()).toEqual([12_345, 12_346]);
  chownSync(file, 23_456, 23_457);
  for (let epoch = 2; statSync(file).ino === made.ino; epoch++) await anchor.raise(A, epoch);
  expect([...owner(), statSync(file).mode & 0o777]).toEqual([23_456, 23_457, 0o600]);
});
