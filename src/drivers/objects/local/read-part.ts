import { closeSync, constants, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

export interface FilePart {
  file: string;
  start: number;
  length: number;
}

/** Reads a part of a file that is no link, less of it where the file ends before. Fails with the error of the system. */
export type ReadPart = (part: FilePart) => Promise<Buffer>;

/** Nothing that stands where a blob belongs leads elsewhere. */
export const BLOB_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW;

/** In the pool of the runtime: each step on the way is a trip there and back. */
export const readInPool: ReadPart = async ({ file, start, length }) => {
  const handle = await open(file, BLOB_FLAGS);
  try {
    const bytes = Buffer.allocUnsafeSlow(length);
    const { bytesRead } = await handle.read(bytes, 0, length, start);
    return bytes.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
};

/** While nothing else goes on in the thread, which a disk may hold up for any time. */
export function readAtOnce({ file, start, length }: FilePart): Buffer<ArrayBuffer> {
  const fd = openSync(file, BLOB_FLAGS);
  try {
    const bytes = Buffer.allocUnsafeSlow(length);
    return bytes.subarray(0, readSync(fd, bytes, 0, length, start));
  } finally {
    closeSync(fd);
  }
}
