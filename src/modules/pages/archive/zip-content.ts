import { crc32, inflateRawSync } from 'node:zlib';
import { shown } from './archive-error.js';
import { damaged, type ZipFileEntry } from './zip-directory.js';

const SIGNATURE = 0x04034b50;
const HEADER_BYTES = 30;

/**
 * The content of a file in the archive. It never grows beyond what the directory declares, and has to be that to the byte.
 * Everything waits meanwhile, so this belongs into a thread.
 */
export function readContent(archive: Buffer, file: ZipFileEntry): Buffer {
  const packed = readAt(archive, dataAt(archive, file), file.packedBytes);
  const content = file.method === 0 ? packed : inflate(packed, file);
  const fault = (why: string) => damaged(`"${shown(file.path)}" ${why}`);
  if (content.length !== file.bytes) throw fault('has another size than declared');
  if (crc32(content) !== file.crc32) throw fault('has another checksum than declared');
  return content;
}

/** Where the data begins: the directory and the file's own header each know a part of it, and they must agree on the name. */
function dataAt(archive: Buffer, { headerAt, rawName, path, method }: ZipFileEntry): number {
  const header = readAt(archive, headerAt, HEADER_BYTES);
  if (header.readUInt32LE(0) !== SIGNATURE) throw damaged(`"${shown(path)}" has no header`);
  const name = readAt(archive, headerAt + HEADER_BYTES, header.readUInt16LE(26));
  if (!name.equals(rawName)) throw damaged(`"${shown(path)}" has two names`);
  if (header.readUInt16LE(8) !== method) throw damaged(`"${shown(path)}" is packed in two ways`);
  return headerAt + HEADER_BYTES + name.length + header.readUInt16LE(28);
}

function inflate(packed: Buffer, { bytes, path }: ZipFileEntry): Buffer {
  try {
    // One byte beyond what is declared is enough to know.
    const { buffer, engine } = inflateRawSync(packed, { maxOutputLength: bytes + 1, info: true }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    if (engine.bytesWritten !== packed.length) throw new Error('data after its end');
    return buffer;
  } catch (error) {
    const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw damaged(`"${shown(path)}" ${tooLarge ? 'inflates to more than declared' : 'cannot be inflated'}`);
  }
}

function readAt(archive: Buffer, position: number, length: number): Buffer {
  if (position + length > archive.length) throw damaged('it is cut short');
  return archive.subarray(position, position + length);
}
