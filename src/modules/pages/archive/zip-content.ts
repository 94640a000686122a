import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { ArchiveError, shown } from './archive-error.js';
import { damaged, type ZipFileEntry } from './zip-directory.js';

const SIGNATURE = 0x04034b50;
const HEADER_BYTES = 30;

/** Larger files go by pieces of this size, so that memory does not grow with them. */
const PIECE_BYTES = 1024 * 1024;

/**
 * The content of a file in the archive. It never grows beyond what the directory declares, and has to be that to the byte.
 * Everything waits meanwhile, so this belongs into a thread.
 */
export function readContent(archive: Buffer, file: ZipFileEntry): Buffer {
  const packed = packedBytes(archive, file);
  const content = file.method === 0 ? packed : inflate(packed, file);
  if (content.length !== file.bytes) throw fault(file, OTHER_SIZE);
  if (crc32(content) !== file.crc32) throw fault(file, OTHER_CHECKSUM);
  return content;
}

/** The same, piece by piece. What is wrong may be found only at the end. */
export async function* contentPieces(archive: Buffer, file: ZipFileEntry): AsyncGenerator<Buffer> {
  if (file.method === 0 || file.bytes <= PIECE_BYTES) {
    yield readContent(archive, file);
    return;
  }
  const packed = packedBytes(archive, file);
  const inflater = createInflateRaw({ chunkSize: PIECE_BYTES });
  inflater.end(packed);
  let [size, checksum] = [0, 0];
  try {
    for await (const piece of inflater as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > file.bytes) throw fault(file, TOO_MUCH);
      checksum = crc32(piece, checksum);
      yield piece;
    }
  } catch (error) {
    throw error instanceof ArchiveError ? error : fault(file, NOT_INFLATED);
  }
  if (inflater.bytesWritten !== packed.length) throw fault(file, NOT_INFLATED);
  if (size !== file.bytes) throw fault(file, OTHER_SIZE);
  if (checksum !== file.crc32) throw fault(file, OTHER_CHECKSUM);
}

const OTHER_SIZE = 'has another size than declared';
const OTHER_CHECKSUM = 'has another checksum than declared';
const TOO_MUCH = 'inflates to more than declared';
const NOT_INFLATED = 'cannot be inflated';

function fault({ path }: ZipFileEntry, why: string): ArchiveError {
  return damaged(`"${shown(path)}" ${why}`);
}

function packedBytes(archive: Buffer, file: ZipFileEntry): Buffer {
  return readAt(archive, dataAt(archive, file), file.packedBytes);
}

/** Where the data begins: the directory and the file's own header each know a part of it, and they must agree on the name. */
function dataAt(archive: Buffer, file: ZipFileEntry): number {
  const { headerAt, rawName, method } = file;
  const header = readAt(archive, headerAt, HEADER_BYTES);
  if (header.readUInt32LE(0) !== SIGNATURE) throw fault(file, 'has no header');
  const name = readAt(archive, headerAt + HEADER_BYTES, header.readUInt16LE(26));
  if (!name.equals(rawName)) throw fault(file, 'has two names');
  if (header.readUInt16LE(8) !== method) throw fault(file, 'is packed in two ways');
  return headerAt + HEADER_BYTES + name.length + header.readUInt16LE(28);
}

function inflate(packed: Buffer, file: ZipFileEntry): Buffer {
  try {
    // One byte beyond what is declared is enough to know.
    const { buffer, engine } = inflateRawSync(packed, { maxOutputLength: file.bytes + 1, info: true }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    if (engine.bytesWritten !== packed.length) throw new Error('data after its end');
    return buffer;
  } catch (error) {
    const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw fault(file, tooLarge ? TOO_MUCH : NOT_INFLATED);
  }
}

function readAt(archive: Buffer, position: number, length: number): Buffer {
  if (position + length > archive.length) throw damaged('it is cut short');
  return archive.subarray(position, position + length);
}
