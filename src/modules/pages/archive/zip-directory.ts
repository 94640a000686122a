import { fromBufferPromise, getFileNameLowLevel, type Entry, type ZipFile } from 'yauzl';
import { ArchiveError, shown } from './archive-error.js';
import { checkConflicts, checkPath, isLitter, singleRoot } from './archive-paths.js';

export interface ArchiveLimits {
  entries: number;
  /** Bytes of all files together. */
  inflatedBytes: number;
}

/** A file as the archive's directory declares it; its data may say otherwise. */
export interface ZipFileEntry {
  /** Where it stands in the site. */
  path: string;
  rawName: Buffer;
  headerAt: number;
  method: 0 | 8;
  packedBytes: number;
  bytes: number;
  crc32: number;
}

export const MAX_FILE_BYTES = 50 * 1024 * 1024;
/** All paths together have that many bytes for each entry that there may be: whoever looks at a site reads all of them. */
const PATH_BYTES_PER_ENTRY = 200;
const MAX_TOTAL_RATIO = 100;
const MAX_FILE_RATIO = 200;
/** Below it a file may be as repetitive as it likes. */
const RATIO_FREE_BYTES = 1024 * 1024;
const LOCAL_HEADER_BYTES = 30;

/** Reads the directory of a ZIP file and refuses what cannot become a site, before a byte of it is inflated. */
export async function readDirectory(archive: Buffer, limits: ArchiveLimits): Promise<ZipFileEntry[]> {
  const zip = await openZip(archive);
  if (zip.entryCount > limits.entries) {
    throw new ArchiveError('archive_too_many_files', `The archive has more than ${limits.entries} entries.`);
  }
  const [files, folders] = await readEntries(zip);
  if (files.length === 0) throw new ArchiveError('archive_empty', 'The archive holds no file.');
  const paths = files.map(({ path }) => path);
  checkPathBytes(paths, limits);
  checkConflicts(paths, folders);
  checkSizes(files, limits);
  checkOverlaps(files);
  const root = singleRoot(paths);
  return root === '' ? files : files.map((file) => ({ ...file, path: file.path.slice(root.length) }));
}

async function openZip(archive: Buffer): Promise<ZipFile> {
  try {
    return await fromBufferPromise(archive, { lazyEntries: true, decodeStrings: false });
  } catch (error) {
    const { message } = error as Error;
    throw /signature not found|unexpected EOF/i.test(message)
      ? new ArchiveError('archive_not_zip', 'The file is no ZIP archive, or it is cut short.')
      : damaged(message);
  }
}

async function readEntries(zip: ZipFile): Promise<[files: ZipFileEntry[], folders: string[]]> {
  const files: ZipFileEntry[] = [];
  const folders: string[] = [];
  try {
    for await (const entry of zip.eachEntry()) {
      const path = nameOf(entry);
      if (isLitter(path)) continue;
      checkPath(path);
      checkKind(entry, path);
      if (path.endsWith('/')) folders.push(path);
      else files.push(fileOf(entry, path));
    }
  } catch (error) {
    throw error instanceof ArchiveError ? error : damaged((error as Error).message);
  }
  return [files, folders];
}

function nameOf(entry: Entry): string {
  const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
  return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
}

const UNIX = 3;
const KIND = 0o170000;
const REGULAR = 0o100000;
const FOLDER = 0o040000;

function checkKind(entry: Entry, path: string): void {
  const fault = (code: 'archive_encrypted' | 'archive_method_unsupported' | 'archive_entry_unsupported', why: string) =>
    new ArchiveError(code, `"${shown(path)}" ${why}.`);
  if (entry.generalPurposeBitFlag & 0x2041) throw fault('archive_encrypted', 'is encrypted');
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) {
    throw fault('archive_method_unsupported', 'is packed by another method than store or deflate');
  }
  const kind = (entry.externalFileAttributes >>> 16) & KIND;
  const wanted = path.endsWith('/') ? FOLDER : REGULAR;
  // The upper half is Unix's only where the archive says so, yet unpackers look at it either way.
  if (kind !== 0 && kind !== wanted) throw fault('archive_entry_unsupported', 'is neither a file nor a folder');
  if (wanted === FOLDER && entry.uncompressedSize !== 0) {
    throw fault('archive_entry_unsupported', 'is a folder with content');
  }
  if (entry.versionMadeBy >>> 8 === UNIX) return;
  const dosFolder = (entry.externalFileAttributes & 0x10) !== 0;
  if (dosFolder && wanted === REGULAR) throw fault('archive_entry_unsupported', 'is neither a file nor a folder');
}

function fileOf(entry: Entry, path: string): ZipFileEntry {
  return {
    path,
    rawName: entry.fileNameRaw,
    headerAt: entry.relativeOffsetOfLocalHeader,
    method: entry.compressionMethod as 0 | 8,
    packedBytes: entry.compressedSize,
    bytes: entry.uncompressedSize,
    crc32: entry.crc32,
  };
}

function checkPathBytes(paths: readonly string[], { entries }: ArchiveLimits): void {
  const most = entries * PATH_BYTES_PER_ENTRY;
  const bytes = paths.reduce((sum, path) => sum + Buffer.byteLength(path), 0);
  if (bytes <= most) return;
  throw new ArchiveError('archive_path_too_long', `The paths of all files have more than ${most} bytes together.`);
}

function checkSizes(files: readonly ZipFileEntry[], { inflatedBytes }: ArchiveLimits): void {
  let [packed, total] = [0, 0];
  for (const { path, bytes, packedBytes, method } of files) {
    if (bytes > MAX_FILE_BYTES) {
      throw new ArchiveError('archive_file_too_large', `"${shown(path)}" has more than ${MAX_FILE_BYTES} bytes.`);
    }
    if (method === 0 && bytes !== packedBytes) throw damaged(`"${shown(path)}" is stored with two sizes`);
    if (bytes > RATIO_FREE_BYTES && bytes > packedBytes * MAX_FILE_RATIO) {
      throw new ArchiveError(
        'archive_ratio',
        `"${shown(path)}" inflates to more than ${MAX_FILE_RATIO} times its size.`,
      );
    }
    packed += packedBytes;
    total += bytes;
  }
  if (total > inflatedBytes) {
    throw new ArchiveError('archive_inflates_too_large', `The files have more than ${inflatedBytes} bytes together.`);
  }
  if (total > RATIO_FREE_BYTES && total > packed * MAX_TOTAL_RATIO) {
    throw new ArchiveError('archive_ratio', `The archive inflates to more than ${MAX_TOTAL_RATIO} times its size.`);
  }
}

/** Entries that share data are how a small archive inflates without end. */
function checkOverlaps(files: readonly ZipFileEntry[]): void {
  const inOrder = [...files].sort((one, other) => one.headerAt - other.headerAt);
  let end = 0;
  for (const { path, headerAt, rawName, packedBytes } of inOrder) {
    if (headerAt < end) {
      throw new ArchiveError('archive_overlap', `The data of "${shown(path)}" overlaps with another file's.`);
    }
    end = headerAt + LOCAL_HEADER_BYTES + rawName.length + packedBytes;
  }
}

/** `why` comes from the reader of the archive and says nothing about this machine. */
export function damaged(why: string): ArchiveError {
  return new ArchiveError('archive_damaged', `The archive is damaged: ${shown(why)}.`);
}
