import { MemoryRoom } from './memory-room.js';

const full = () => new Error('full');

test('one has so much room and all together have so much, until it is given back', () => {
  const room = new MemoryRoom({ ofOne: 10, ofAll: 15 });
  const [first] = [room.take('a', 6, full), room.take('a', 4, full)];
  expect(() => room.take('a', 1, full)).toThrow('full');
  room.take('b', 5, full);
  expect(() => room.take('c', 1, full)).toThrow('full');
  expect(room.tryTake('c', 1)).toBeNull();
  first();
  // Once, however often it is said.
  first();
  room.take('c', 6, full);
  expect(() => room.take('a', 1, full)).toThrow('full');
});

test('one may have a share of what is left, and whatever others have, there is some for the next', () => {
  const room = new MemoryRoom({ ofOne: { share: 1 / 8 }, ofAll: 1000 });
  const counts = Array.from({ length: 10 }, (_, number) => {
    let count = 0;
    while (room.tryTake(String(number), 10)) count++;
    return count;
  });
  expect(counts).toEqual([11, 10, 8, 8, 7, 6, 5, 5, 4, 4]);
});
