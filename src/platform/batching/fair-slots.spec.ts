import { FairSlots } from './fair-slots.js';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Work that is told when to end, and when it began. */
function scene(slots: number) {
  const queue = new FairSlots(slots);
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const bring = (name: string, which: string, signal = new AbortController().signal) =>
    queue.run(name, signal, () => {
      began.push(which);
      return new Promise<string>((resolve) => ends.set(which, () => resolve(which)));
    });
  const end = async (which: string) => {
    ends.get(which)!();
    await settled();
  };
  return { queue, began, bring, end };
}

test('of each name one is at work, and names take turns', async () => {
  const { began, bring, end } = scene(2);
  const all = [
    bring('a', 'a1'),
    bring('a', 'a2'),
    bring('a', 'a3'),
    bring('b', 'b1'),
    bring('b', 'b2'),
    bring('c', 'c1'),
  ];
  await settled();
  expect(began).toEqual(['a1', 'b1']);
  await end('a1');
  expect(began.slice(2)).toEqual(['c1']);
  await end('b1');
  expect(began.slice(3)).toEqual(['a2']);
  await end('a2');
  expect(began.slice(4)).toEqual(['b2']);
  await end('c1');
  expect(began.slice(5)).toEqual(['a3']);
  await end('b2');
  await end('a3');
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1']);
});

test('one name alone has one slot, however many are free', async () => {
  const { began, bring, end } = scene(3);
  void bring('a', 'a1');
  void bring('a', 'a2');
  void bring('b', 'b1');
  await settled();
  expect(began).toEqual(['a1', 'b1']);
  await end('a1');
  expect(began).toEqual(['a1', 'b1', 'a2']);
});

test('what is given up while it waits never begins, and holds nothing up', async () => {
  const { began, bring, end } = scene(1);
  const gone = new AbortController();
  void bring('a', 'a1');
  const given = [bring('a', 'a2', gone.signal), bring('b', 'b1', gone.signal)];
  void bring('c', 'c1');
  gone.abort(new Error('gone'));
  for (const one of given) await expect(one).rejects.toThrow('gone');
  await expect(bring('d', 'd1', gone.signal)).rejects.toThrow('gone');
  await end('a1');
  expect(began).toEqual(['a1', 'c1']);
});

test('work that fails gives its slot back', async () => {
  const { queue, began, bring } = scene(1);
  const { signal } = new AbortController();
  await expect(queue.run('a', signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  void bring('a', 'a1');
  await settled();
  expect(began).toEqual(['a1']);
});
