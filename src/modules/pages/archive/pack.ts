import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { ArchiveError } from './archive-error.js';
import { HEADERS_FILE, parseHeaders } from './header-rules.js';
import { encodeManifest, type Extent, type Manifest } from './manifest.js';
import { isCompressible, mediaTypeOf } from './media-types.js';
import { parseRedirects, REDIRECTS_FILE } from './redirect-rules.js';
import { Warnings, type RuleWarning } from './rule-lines.js';
import { readContent } from './zip-content.js';
import { readDirectory, type ArchiveLimits } from './zip-directory.js';

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

const COMPRESS_FROM = 1024;
/** Less than a tenth saved is not worth the room. */
const WORTH = 0.9;
const BROTLI_QUALITY = 5;
const GZIP_LEVEL = 6;

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
      const content = readContent(archive, entry);
      this.bytes += content.length;
      if (entry.path === REDIRECTS_FILE) this.manifest.redirects = parseRedirects(content, this.warnings);
      else if (entry.path === HEADERS_FILE) this.manifest.headers = parseHeaders(content, this.warnings);
      else {
        const file = { ...this.place(content), hash: createHash('sha256').update(content).digest('hex').slice(0, 32) };
        yield content;
        const forms = this.compress(entry.path, content);
        files[entry.path] = file;
        for (const [name, form] of Object.entries(forms)) {
          files[entry.path] = { ...files[entry.path]!, [name]: this.place(form) };
          yield form;
        }
      }
    }
    if (Object.keys(files).length === 0) throw new ArchiveError('archive_empty', 'The archive holds no file to show.');
    const manifest = encodeManifest(this.manifest);
    this.done = this.place(manifest);
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

  private place({ length }: Buffer): Extent {
    const extent = { at: this.at, bytes: length };
    this.at += length;
    return extent;
  }

  private compress(path: string, content: Buffer): { br?: Buffer; gzip?: Buffer } {
    if (content.length < COMPRESS_FROM || !isCompressible(mediaTypeOf(path))) return {};
    const began = performance.now();
    const br = brotliCompressSync(content, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    });
    const gzip = gzipSync(content, { level: GZIP_LEVEL });
    this.compressingMs += performance.now() - began;
    const worth = (form: Buffer) => form.length < content.length * WORTH;
    return { ...(worth(br) ? { br } : {}), ...(worth(gzip) ? { gzip } : {}) };
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
