import type { BlobStore } from '../../../drivers/objects/blob-store.js';
import { UploadSlots } from './upload-slots.js';

const MIB = 1024 * 1024;
const refusal = { kind: 'rate_limited', code: 'too_many_uploads' };
/** A store that keeps as much in memory as it is told of, and 16 MB where it is told nothing. */
const store = { memoryOf: (size = 16 * MIB) => size } as BlobStore;

test('all accounts together have so many under way, however the others end', async () => {
  const slots = new UploadSlots(store);
  const works = Array.from({ length: 256 }, () => Promise.withResolvers<string>());
  const running = works.map(({ promise }, index) => slots.uploading(`account ${index % 16}`, 1, () => promise));
  const one = (): Promise<string> => slots.uploading('another', 1, async () => 'done');
  await expect(one()).rejects.toMatchObject(refusal);
  works[3]!.reject(new Error('the client went away'));
  await expect(running[3]).rejects.toThrow('went away');
  expect(await one()).toBe('done');
});

test('large ones are as few as there is memory for, and fewer of one account', async () => {
  const slots = new UploadSlots(store);
  const works = Array.from({ length: 16 }, () => Promise.withResolvers<string>());
  const running = works.map(({ promise }, index) => slots.uploading(`account ${index >> 2}`, undefined, () => promise));
  const one = (account: string, size?: number) => slots.uploading(account, size, async () => 'done');
  for (const account of ['account 0', 'another']) await expect(one(account)).rejects.toMatchObject(refusal);
  works[0]!.resolve('');
  await running[0];
  expect(await one('account 0')).toBe('done');
  await expect(one('account 1', 1)).rejects.toMatchObject(refusal);
  expect(await one('another', 15 * MIB)).toBe('done');
});
