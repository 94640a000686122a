import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';
import { ArchiveError } from './archive-error.js';
import { COMPRESS_FROM, compressPieces, compressWhole, type CompressedForms } from './compressed-forms.js';
import { HEADERS_FILE, parseHeaders } from './header-rules.js';
import { encodeManifest, type Extent, type Manifest, type SiteFile } from './manifest.js';
import { isCompressible, mediaTypeOf } from './media-types.js';
import { parseRedirects, REDIRECTS_FILE } from './redirect-rules.js';
import { Warnings, type RuleWarning } from './rule-lines.js';
import { contentPieces, readContent } from './zip-content.js';
import { readDirectory, type ArchiveLimits, type ZipFileEntry } from './zip-directory.js';

/** A pack that was written. */
export interface PackSummary {
  files: number;
  /** Of the files as they are, without what is compressed beside them. */
  bytes: number;
  manifest: Extent;
  warnings: RuleWarning[];
  /** What the work took: all of it, and compressing alone. */
  ms: { total: number; compressing: number };
}

/**
 * Turns an archive into a pack: the content of all files, each followed by its compressed forms, and the manifest at the end.
 * One blob holds it, so a deployment comes into being, and goes, as one; and no name out of an archive ever is a name in a
 * file system.
 */
export class Packing {
  private readonly began = performance.now();
  private readonly warnings = new Warnings();
  private readonly manifest: Manifest = { files: {}, redirects: [], headers: [] };
  private at = 0;
  private bytes = 0;
  private compressingMs = 0;
  private done: Extent | undefined;

  constructor(
    private readonly fd: number,
    private readonly limits: ArchiveLimits,
  ) {}

  /** The bytes of the pack. `ArchiveError` for an archive that is refused. */
  async *chunks(): AsyncGenerator<Buffer> {
    // It has 30 MiB at most, and thousands of small reads would take longer than all else.
    const archive = readWhole(this.fd);
    const entries = await readDirectory(archive, this.limits);
    // Paths are keys of an object: none may be one that every object has.
    const files = (this.manifest.files = Object.create(null) as Manifest['files']);
    for (const entry of entries) {
      this.bytes += entry.bytes;
      if (entry.path === REDIRECTS_FILE) {
        this.manifest.redirects = parseRedirects(readContent(archive, entry), this.warnings);
      } else if (entry.path === HEADERS_FILE) {
        this.manifest.headers = parseHeaders(readContent(archive, entry), this.warnings);
      } else {
        const hash = createHash('sha256');
        const place = this.place(entry.bytes);
        let whole: Buffer | undefined;
        for await (const piece of contentPieces(archive, entry)) {
          hash.update(piece);
          if (piece.length === entry.bytes) whole = piece;
          yield piece;
        }
        const file: SiteFile = { ...place, hash: hash.digest('hex').slice(0, 32) };
        const forms = await this.compress(archive, entry, whole);
        for (const name of ['br', 'gzip'] as const) {
          const form = forms[name];
          if (!form) continue;
          file[name] = this.place(form.length);
          yield form;
        }
        files[entry.path] = file;
      }
    }
    if (Object.keys(files).length === 0) throw new ArchiveError('archive_empty', 'The archive holds no file to show.');
    const manifest = encodeManifest(this.manifest);
    this.done = this.place(manifest.length);
    yield manifest;
  }

  /** Once all chunks have been taken. */
  summary(): PackSummary {
    if (!this.done) throw new Error('The pack is not complete.');
    return {
      files: Object.keys(this.manifest.files).length,
      bytes: this.bytes,
      manifest: this.done,
      warnings: this.warnings.list,
      ms: { total: performance.now() - this.began, compressing: this.compressingMs },
    };
  }

  private place(bytes: number): Extent {
    const extent = { at: this.at, bytes };
    this.at += bytes;
    return extent;
  }

  /** `whole` is the content where that is at hand. */
  private async compress(archive: Buffer, entry: ZipFileEntry, whole: Buffer | undefined): Promise<CompressedForms> {
    if (entry.bytes < COMPRESS_FROM || !isCompressible(mediaTypeOf(entry.path))) return {};
    const began = performance.now();
    const pieces = () => contentPieces(archive, entry);
    const forms = whole ? compressWhole(whole) : await compressPieces(pieces, entry.bytes);
    this.compressingMs += performance.now() - began;
    return forms;
  }
}

/** From the beginning, wherever the file was read or written last. */
function readWhole(fd: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(fstatSync(fd).size);
  for (let at = 0; at < bytes.length;) {
    const read = readSync(fd, bytes, at, bytes.length - at, at);
    if (read === 0) throw new Error('the archive became shorter while it was read');
    at += read;
  }
  return bytes;
}
