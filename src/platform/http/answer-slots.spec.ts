import { AnswerSlots } from './answer-slots.js';
import type { AnswerSource } from './paced-answer.js';

const source = (): AnswerSource => ({
  read: async () => 0,
  stillThere: async () => true,
  close: async () => undefined,
});
const open = (slots: AnswerSlots, address: string): Promise<AnswerSource> => slots.open(address, async () => source());

test('an address has so many open and no more, however it writes itself, until it closes one', async () => {
  const slots = new AnswerSlots();
  const first = await open(slots, '2001:db8::1');
  for (let count = 1; count < 50; count++) await open(slots, `2001:db8::${count}:0:0:1`);
  await expect(open(slots, '2001:db8::ffff')).rejects.toMatchObject({
    kind: 'rate_limited',
    code: 'too_many_downloads',
    extra: { retryAfterSeconds: 10 },
  });
  await open(slots, '2001:db8:0:1::1');
  await first.close();
  await first.close();
  await open(slots, '2001:db8::1');
  await expect(open(slots, '2001:db8::1')).rejects.toMatchObject({ code: 'too_many_downloads' });
});

test('what cannot be opened does not count', async () => {
  const slots = new AnswerSlots();
  const failure = new Error('the store is away');
  for (let count = 0; count < 60; count++) {
    await expect(slots.open('192.0.2.1', () => Promise.reject(failure))).rejects.toBe(failure);
  }
});

test('all addresses together have so many', async () => {
  const slots = new AnswerSlots();
  const opened = await Promise.all(Array.from({ length: 1000 }, (_, index) => open(slots, `192.0.2.${index % 100}`)));
  await expect(open(slots, '198.51.100.1')).rejects.toMatchObject({ kind: 'unavailable' });
  await opened[7]!.close();
  await open(slots, '198.51.100.1');
});
