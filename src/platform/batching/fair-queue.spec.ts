import { FairQueue } from './fair-queue.js';

const never = new AbortController().signal;

test('names take turns, one piece of work at a time', async () => {
  const queue = new FairQueue();
  const done: string[] = [];
  let atOnce = 0;
  const work = (what: string) => async (): Promise<void> => {
    expect(++atOnce).toBe(1);
    await new Promise(setImmediate);
    atOnce--;
    done.push(what);
  };
  const names = ['a', 'a', 'a', 'b', 'b', 'c'];
  await Promise.all(names.map((name, index) => queue.take(name, never, work(`${name}${index}`))));
  expect(done).toEqual(['a0', 'a1', 'b3', 'c5', 'a2', 'b4']);
});

test('what fails holds nobody up, and what is aborted gives its place away', async () => {
  const queue = new FairQueue();
  const done: string[] = [];
  const first = queue.take('a', never, async () => {
    await new Promise(setImmediate);
    throw new Error('broken');
  });
  const leaving = new AbortController();
  const second = queue.take('b', leaving.signal, async () => void done.push('b'));
  const third = queue.take('c', never, async () => void done.push('c'));
  leaving.abort(new Error('too late'));
  await expect(second).rejects.toThrow('too late');
  await expect(first).rejects.toThrow('broken');
  await third;
  await expect(queue.take('b', leaving.signal, async () => void done.push('b'))).rejects.toThrow('too late');
  expect(done).toEqual(['c']);
});
