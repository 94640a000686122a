import { MemoryRoom } from './memory-room.js';

test('one has so much room and all together have so much, until it is given back', () => {
  const room = new MemoryRoom({ ofOne: 10, ofAll: 15 }, () => new Error('full'));
  const [first] = [room.take('a', 6), room.take('a', 4)];
  expect(() => room.take('a', 1)).toThrow('full');
  room.take('b', 5);
  expect(() => room.take('c', 1)).toThrow('full');
  first();
  // Once, however often it is said.
  first();
  room.take('c', 6);
  expect(() => room.take('a', 1)).toThrow('full');
});
