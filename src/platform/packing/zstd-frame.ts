const MAGIC = 0xfd2fb528;
const RAW = 0;
const RLE = 1;
/** More than what stands before or after may have; a decoder is free to have a larger window than the blocks need. */
const LEAST_WINDOW_LOG = 17;

/**
 * One Zstandard frame (RFC 8878) of `before`, what `frame` unpacks to, and `after`, without unpacking it: blocks stay as they
 * are, whatever stands before them. Two frames would do as well, but there are decoders that end with the first. The result is
 * to be sent one after another. `before` and `after` have 64 KiB at most. The checksum, which is of another text, is left out.
 */
export function framedBetween(before: Buffer, frame: Buffer, after: Buffer): Buffer[] {
  if (frame.length < 9 || frame.readUInt32LE(0) !== MAGIC) throw new Error('it is no Zstandard frame');
  const { start, windowDescriptor } = headerOf(frame);
  const header = Buffer.alloc(6);
  header.writeUInt32LE(MAGIC, 0);
  header[5] = windowDescriptor;
  const { last, end } = lastBlockOf(frame, start);
  const notLast = Buffer.from(frame.subarray(last, last + 3));
  notLast[0]! &= 0xfe;
  return [
    ...[header, rawBlock(before, false)],
    ...[frame.subarray(start, last), notLast, frame.subarray(last + 3, end)],
    rawBlock(after, true),
  ];
}

/** Where its blocks begin, and what it says of its window. */
function headerOf(frame: Buffer): { start: number; windowDescriptor: number } {
  const flags = frame[4]!;
  const isSingle = (flags & 0x20) !== 0;
  if ((flags & 0x0b) !== 0) throw new Error('a Zstandard frame with a dictionary, or from the future');
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6]!;
  if (!isSingle) {
    const windowDescriptor = Math.max(frame[5]!, descriptorOf(LEAST_WINDOW_LOG));
    return { start: 6 + sizeBytes, windowDescriptor };
  }
  // Without a window of its own its window is all of it.
  const size =
    sizeBytes === 8 ? Number(frame.readBigUInt64LE(5)) : frame.readUIntLE(5, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  const windowDescriptor = descriptorOf(Math.max(LEAST_WINDOW_LOG, Math.ceil(Math.log2(Math.max(1, size)))));
  return { start: 5 + sizeBytes, windowDescriptor };
}

function descriptorOf(windowLog: number): number {
  return (windowLog - 10) << 3;
}

function lastBlockOf(frame: Buffer, start: number): { last: number; end: number } {
  for (let at = start; at + 3 <= frame.length;) {
    const header = frame.readUIntLE(at, 3);
    const end = at + 3 + (((header >> 1) & 3) === RLE ? 1 : header >> 3);
    if ((header & 1) === 1 && end <= frame.length) return { last: at, end };
    at = end;
  }
  throw new Error('a Zstandard frame without an end');
}

function rawBlock(content: Buffer, isLast: boolean): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((content.length << 3) | (RAW << 1) | (isLast ? 1 : 0), 0, 3);
  return Buffer.concat([header, content]);
}
