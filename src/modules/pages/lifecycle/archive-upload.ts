import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { randomBytes } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { bodyTooLarge, refusedEncoding } from '../../../platform/http/body.js';
import { GatheredBytes } from '../../../platform/http/gathered-bytes.js';
import { pacedBody } from '../../../platform/http/paced-body.js';

export const MAX_ARCHIVE_BYTES = 30 * 1024 * 1024;
/** What may stand around the file: boundaries, headers, other fields. */
const AROUND_BYTES = 64 * 1024;
export const MAX_UPLOAD_BYTES = MAX_ARCHIVE_BYTES + AROUND_BYTES;
/** Few large writes are quicker than many small ones. */
const WRITE_BYTES = 1024 * 1024;
const LIMITS = {
  files: 2,
  fields: 5,
  parts: 7,
  fieldNameSize: 64,
  fieldSize: 4096,
  headerPairs: 20,
  fileSize: MAX_ARCHIVE_BYTES + 1,
};

/**
 * The one file of a multipart body, on the disk. It has no name there from the beginning, so that it is gone with the process
 * that reads it, whatever happens. The caller closes it.
 */
export async function receiveArchive(request: IncomingMessage, folder: string): Promise<FileHandle> {
  const parser = multipartParser(request);
  const file = await openNameless(folder);
  try {
    await new Reception(request, parser, file).complete();
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

class Reception {
  private fault: Error | undefined;
  private files = 0;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly request: IncomingMessage,
    private readonly parser: BusboyInstance,
    private readonly file: FileHandle,
  ) {
    parser.on('file', (name, stream) => this.take(name, stream));
    parser.on('field', (name) => this.mustBeShort(name));
    parser.on('partsLimit', () => this.refuse(tooMany()));
    parser.on('filesLimit', () => this.refuse(tooMany()));
    parser.on('fieldsLimit', () => this.refuse(tooMany()));
  }

  async complete(): Promise<void> {
    try {
      await pipeline(() => this.body(), this.parser);
      await this.writing;
    } catch (error) {
      if (this.fault === undefined && error instanceof DomainError) this.fault = error;
      this.fault ??= malformed(error);
    }
    // What is being written ends before the file is closed.
    await this.writing.catch(() => undefined);
    if (this.fault !== undefined) throw this.fault;
    if (this.files === 0) {
      throw new DomainError(
        'bad_request',
        'file_missing',
        'The body must have a part that is a file: the ZIP archive.',
      );
    }
  }

  private async *body(): AsyncGenerator<Buffer> {
    for await (const chunk of pacedBody(this.request)) {
      if (this.fault !== undefined) throw this.fault;
      yield chunk;
    }
  }

  private take(name: string, stream: BusboyFileStream): void {
    // What is refused is still read, as what is behind it would wait for that.
    stream.on('error', (error: Error) => this.refuse(malformed(error)));
    this.mustBeShort(name);
    if (++this.files > 1 || this.fault !== undefined) {
      this.refuse(tooMany());
      stream.resume();
      return;
    }
    this.writing = this.write(stream).catch((error: Error) => {
      this.refuse(error);
      stream.resume();
    });
  }

  private async write(stream: BusboyFileStream): Promise<void> {
    let size = 0;
    const pieces = new GatheredBytes();
    // Destroyed, it would hold up the parser for ever.
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_ARCHIVE_BYTES) throw bodyTooLarge(MAX_ARCHIVE_BYTES);
      pieces.add(chunk);
      if (pieces.size >= WRITE_BYTES) await this.file.appendFile(pieces.take());
    }
    await this.file.appendFile(pieces.take());
  }

  private mustBeShort(name: unknown): void {
    if (typeof name === 'string' && name.length < LIMITS.fieldNameSize) return;
    this.refuse(
      new DomainError('bad_request', 'malformed_multipart', 'A part of the body has no name, or a long one.'),
    );
  }

  /** The first fault is what is told. */
  private refuse(error: Error): void {
    this.fault ??= error;
  }
}

function multipartParser({ headers }: IncomingMessage): BusboyInstance {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw new DomainError(
      'unsupported_media_type',
      'unsupported_media_type',
      'The body must be multipart/form-data with the ZIP archive as a file.',
    );
  }
  const refusal = refusedEncoding(headers['content-encoding']);
  if (refusal) throw refusal;
  try {
    return new Busboy({
      headers: { 'content-type': type },
      limits: LIMITS,
      isPartAFile: (_name, contentType, fileName) =>
        fileName !== undefined || /^application\/(?:octet-stream|(?:x-)?zip)/i.test(contentType ?? ''),
    });
  } catch (error) {
    throw malformed(error);
  }
}

async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, `berth-upload-${randomBytes(12).toString('hex')}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

function tooMany(): DomainError {
  return new DomainError(
    'bad_request',
    'too_many_parts',
    'The body must have one file, and five other fields at most.',
  );
}

function malformed(cause: unknown): DomainError {
  return new DomainError('bad_request', 'malformed_multipart', 'The body is not well-formed multipart/form-data.', {
    cause,
  });
}
