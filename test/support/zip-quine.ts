import { crc32 } from 'node:zlib';

const NAME = Buffer.from('archive.zip');
const HEAD_BYTES = 30 + NAME.length;
const LITERAL_BYTES = 5;
const REPEAT_BYTES = 18;
/** What the first pieces print, and the last ones. */
const [TURN, BLOCK] = [46, 92];

/**
 * An archive that holds one file, `archive.zip`, which is the archive itself: whatever unpacks what it finds never ends.
 *
 * Its data is a program for an inflater that prints itself. `literal` prints what follows it, `repeat` what was printed last.
 * The lengths are such that one and the same `repeat` serves twice; by the last `literal` the output is ahead by the header
 * of that very piece, which is what the end needs.
 */
export function zipQuine(): Buffer {
  const [first, again, last, final] = [literal(TURN), repeatTurn(), literal(BLOCK), repeatBlock()];
  const program = (head: Buffer, end: Buffer): Buffer[] => [
    ...[first, head, first, again],
    ...[last, again, last, again, last, again, last, again, last, again],
    ...[last, final, end, final],
  ];
  const endBytes = BLOCK - final.length;
  const packedBytes = Buffer.concat(program(Buffer.alloc(HEAD_BYTES), Buffer.alloc(endBytes))).length;
  const archive = (crc: number): Buffer => {
    const head = header(crc, packedBytes, HEAD_BYTES + packedBytes + endBytes);
    const end = directory(head, HEAD_BYTES + packedBytes, endBytes);
    return Buffer.concat([head, ...program(head, end), end]);
  };
  return archive(ownChecksum(archive));
}

function literal(bytes: number): Buffer {
  const block = Buffer.alloc(LITERAL_BYTES);
  block.writeUInt16LE(bytes, 1);
  block.writeUInt16LE(0xffff - bytes, 3);
  return block;
}

/** 46 bytes from 46 bytes back, in a block of fixed codes, and empty blocks that make it as long as it has to be. */
function repeatTurn(): Buffer {
  const copy = bits('0', '10', '0010010', '110', '01010', '1011', '0000000', '000');
  const empty = literal(0);
  const block = Buffer.concat([copy, empty.subarray(1), empty, empty]);
  if (block.length !== REPEAT_BYTES || 2 * (REPEAT_BYTES + LITERAL_BYTES) !== TURN) throw new Error('does not fit');
  return block;
}

/** 92 bytes from 92 bytes back, and the end. */
function repeatBlock(): Buffer {
  return bits('1', '10', '0010110', '1001', '01100', '11011', '0000000');
}

/** In the order in which an inflater takes them. */
function bits(...pieces: string[]): Buffer {
  const all = pieces.join('');
  const bytes = Buffer.alloc(Math.ceil(all.length / 8));
  for (const [at, bit] of [...all].entries()) bytes[at >> 3]! |= Number(bit) << (at & 7);
  return bytes;
}

function header(crc: number, packedBytes: number, bytes: number): Buffer {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(crc, 14);
  head.writeUInt32LE(packedBytes, 18);
  head.writeUInt32LE(bytes, 22);
  head.writeUInt16LE(NAME.length, 26);
  return Buffer.concat([head, NAME]);
}

/** What stands behind the data, with a comment that makes it as long as it has to be. */
function directory(head: Buffer, at: number, bytes: number): Buffer {
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(20, 4);
  head.copy(entry, 6, 4, 30);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length + NAME.length, 12);
  end.writeUInt32LE(at, 16);
  const comment = bytes - entry.length - NAME.length - end.length;
  end.writeUInt16LE(comment, 20);
  return Buffer.concat([entry, NAME, end, Buffer.alloc(comment, '.')]);
}

/**
 * The checksum that an archive has which names that very checksum. Each bit of what is named turns certain bits of what comes
 * out, whatever the others are, so this is a system of 32 linear equations.
 */
function ownChecksum(archive: (crc: number) => Buffer): number {
  const none = crc32(archive(0));
  const turnedBy = Array.from({ length: 32 }, (_, bit) => (crc32(archive((1 << bit) >>> 0)) ^ none ^ (1 << bit)) >>> 0);
  // An equation for each bit that comes out: 32 unknowns, and above them what the sum has to be.
  const equations = Array.from({ length: 32 }, (_, out) => {
    const unknowns = turnedBy.reduce((sum, turned, bit) => sum | (BigInt((turned >>> out) & 1) << BigInt(bit)), 0n);
    return unknowns | (BigInt((none >>> out) & 1) << 32n);
  });
  let crc = 0n;
  for (let bit = 0; bit < 32; bit++) {
    const has = (equation: bigint): boolean => ((equation >> BigInt(bit)) & 1n) === 1n;
    const pivot = equations.findIndex((equation, index) => index >= bit && has(equation));
    if (pivot === -1) throw new Error('no such checksum');
    [equations[bit], equations[pivot]] = [equations[pivot]!, equations[bit]!];
    for (let other = 0; other < 32; other++) {
      if (other !== bit && has(equations[other]!)) equations[other]! ^= equations[bit]!;
    }
  }
  for (let bit = 0; bit < 32; bit++) crc |= (equations[bit]! >> 32n) << BigInt(bit);
  return Number(crc);
}
