import { UploadSlots } from './upload-slots.js';

test('all accounts together have so many under way, however the others end', async () => {
  const slots = new UploadSlots();
  const works = Array.from({ length: 256 }, () => Promise.withResolvers<string>());
  const running = works.map(({ promise }, index) => slots.uploading(`account ${index % 16}`, () => promise));
  const one = (): Promise<string> => slots.uploading('another', async () => 'done');
  await expect(one()).rejects.toMatchObject({ kind: 'rate_limited', code: 'too_many_uploads' });
  works[3]!.reject(new Error('the client went away'));
  await expect(running[3]).rejects.toThrow('went away');
  expect(await one()).toBe('done');
});
