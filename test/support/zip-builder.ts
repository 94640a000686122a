import { crc32, deflateRawSync } from 'node:zlib';

/** One entry of an archive, as wrong as it should be. */
export interface Entry {
  name: string | Buffer;
  content?: Buffer | string;
  /** Compressed bytes instead of those that belong to the content. */
  packed?: Buffer;
  method?: number;
  flags?: number;
  /** Unix mode. */
  mode?: number;
  /** What the directory says instead of the truth. */
  says?: { size?: number; packedSize?: number; crc?: number; offset?: number; localName?: string };
  /** Without data of its own: its header is where another's is. */
  sharesWith?: number;
  /** What stands in its ZIP64 field, in this order: size, packed size, place; the plain fields then only point there. */
  zip64?: bigint[];
}

export interface Archive {
  entries: Entry[];
  /** Count of entries at the end, instead of the truth. */
  count?: number;
  disk?: number;
  /** With a ZIP64 end, and what that says instead of the truth. */
  zip64?: { count?: bigint; directoryAt?: bigint; endAt?: bigint };
}

/** Builds archives byte by byte, as no library would. */
export function build({ entries, count, disk = 0, zip64 }: Archive): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  const offsets: number[] = [];
  let at = 0;
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '');
    const method = entry.method ?? 8;
    const packed = entry.packed ?? (method === 8 ? deflateRawSync(content) : content);
    const name = Buffer.from(entry.name);
    const { says = {} } = entry;
    const fields = {
      size: says.size ?? content.length,
      packedSize: says.packedSize ?? packed.length,
      crc: says.crc ?? crc32(content),
      flags: entry.flags ?? 0x800,
      method,
    };
    let offset = at;
    if (entry.sharesWith !== undefined) offset = offsets[entry.sharesWith]!;
    else {
      const local = header(0x04034b50, fields, Buffer.from(says.localName ?? name));
      parts.push(local, packed);
      at += local.length + packed.length;
    }
    offsets.push(offset);
    const place = { mode: entry.mode ?? 0o100644, offset: says.offset ?? offset };
    directory.push(central(fields, name, place, entry.zip64));
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  const shownCount = zip64 ? 0xffff : Math.min(0xffff, count ?? entries.length);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(disk, 4);
  end.writeUInt16LE(shownCount, 8);
  end.writeUInt16LE(shownCount, 10);
  end.writeUInt32LE(zip64 ? 0xffffffff : listed.length, 12);
  end.writeUInt32LE(zip64 ? 0xffffffff : at, 16);
  const truth = { count: BigInt(entries.length), directoryAt: BigInt(at), endAt: BigInt(at + listed.length) };
  const long = zip64 ? zip64End({ ...truth, ...zip64 }, listed.length) : Buffer.alloc(0);
  return Buffer.concat([...parts, listed, long, end]);
}

function zip64End(
  { count, directoryAt, endAt }: Record<'count' | 'directoryAt' | 'endAt', bigint>,
  bytes: number,
): Buffer {
  const end = Buffer.alloc(56 + 20);
  end.writeUInt32LE(0x06064b50, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE(45, 12);
  end.writeUInt16LE(45, 14);
  end.writeBigUInt64LE(count, 24);
  end.writeBigUInt64LE(count, 32);
  end.writeBigUInt64LE(BigInt(bytes), 40);
  end.writeBigUInt64LE(directoryAt, 48);
  end.writeUInt32LE(0x07064b50, 56);
  end.writeBigUInt64LE(endAt, 64);
  end.writeUInt32LE(1, 72);
  return end;
}

interface Fields {
  size: number;
  packedSize: number;
  crc: number;
  flags: number;
  method: number;
}

function header(signature: number, { size, packedSize, crc, flags, method }: Fields, name: Buffer): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.writeUInt32LE(signature, 0);
  bytes.writeUInt16LE(20, 4);
  bytes.writeUInt16LE(flags, 6);
  bytes.writeUInt16LE(method, 8);
  bytes.writeUInt32LE(crc >>> 0, 14);
  bytes.writeUInt32LE(packedSize >>> 0, 18);
  bytes.writeUInt32LE(size >>> 0, 22);
  bytes.writeUInt16LE(name.length, 26);
  return Buffer.concat([bytes, name]);
}

interface Place {
  mode: number;
  offset: number;
}

function central(fields: Fields, name: Buffer, { mode, offset }: Place, zip64?: bigint[]): Buffer {
  const bytes = Buffer.alloc(46);
  bytes.writeUInt32LE(0x02014b50, 0);
  bytes.writeUInt16LE((3 << 8) | 20, 4);
  header(0, fields, Buffer.alloc(0)).copy(bytes, 6, 4, 28);
  bytes.writeUInt16LE(name.length, 28);
  bytes.writeUInt32LE((mode << 16) >>> 0, 38);
  bytes.writeUInt32LE(offset, 42);
  if (!zip64) return Buffer.concat([bytes, name]);
  const long = Buffer.alloc(4 + 8 * zip64.length);
  long.writeUInt16LE(1, 0);
  long.writeUInt16LE(long.length - 4, 2);
  zip64.forEach((value, index) => long.writeBigUInt64LE(value, 4 + 8 * index));
  bytes.writeUInt16LE(long.length, 30);
  for (const at of [24, 20, 42]) bytes.writeUInt32LE(0xffffffff, at);
  return Buffer.concat([bytes, name, long]);
}
