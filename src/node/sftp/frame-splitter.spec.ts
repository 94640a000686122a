import { splitFrames, type Fate } from './frame-splitter.js';

/** Packets of type 1 are passed on, all others are taken out whole. */
async function split(pieces: Buffer[]): Promise<{ passed: Buffer; whole: Buffer[]; begun: number[] }> {
  const seen = { passed: Buffer.alloc(0), whole: [] as Buffer[], begun: [] as number[] };
  async function* source() {
    yield* pieces;
  }
  await splitFrames(source(), {
    begin: (type): Fate => {
      seen.begun.push(type);
      return type === 1 ? 'through' : 'whole';
    },
    through: (bytes) => {
      seen.passed = Buffer.concat([seen.passed, bytes]);
    },
    whole: (frame) => {
      seen.whole.push(Buffer.from(frame));
    },
  });
  return seen;
}

function frame(type: number, size: number): Buffer {
  const made = Buffer.alloc(size + 5, type + 100);
  made.writeUInt32BE(size + 1);
  made[4] = type;
  return made;
}

test('finds the same packets wherever the stream is cut', async () => {
  const frames = [frame(1, 700), frame(2, 0), frame(1, 0), frame(3, 90), frame(1, 33), frame(1, 5), frame(2, 300)];
  const stream = Buffer.concat(frames);
  for (const size of [1, 2, 3, 4, 5, 6, 7, 64, 333, stream.length]) {
    const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, index) =>
      stream.subarray(index * size, (index + 1) * size),
    );
    const { passed, whole, begun } = await split(pieces);
    expect(begun).toEqual([1, 2, 1, 3, 1, 1, 2]);
    expect(passed).toEqual(Buffer.concat(frames.filter((one) => one[4] === 1)));
    expect(whole).toEqual(frames.filter((one) => one[4] !== 1));
  }
});

test("what is cut short at the end is nobody's", async () => {
  const { whole, passed } = await split([frame(2, 10).subarray(0, 9)]);
  expect([whole, passed.length]).toEqual([[], 0]);
});
