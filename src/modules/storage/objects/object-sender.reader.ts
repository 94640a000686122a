import { Injectable } from '@nestjs/common';
import { create as contentDisposition } from 'content-disposition';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { BlobError, BlobStore, type ByteRange } from '../../../drivers/objects/blob-store.js';
import { DomainError, notFound, unavailable } from '../../../platform/errors/domain-error.js';
import { AnswerSlots } from '../../../platform/http/answer-slots.js';
import { parseRange, rangeHolds } from '../../../platform/http/byte-range.js';
import { clientAddress } from '../../../platform/http/client-address.js';
import { judgeConditions } from '../../../platform/http/conditions.js';
import { sendPaced, type AnswerSource } from '../../../platform/http/paced-answer.js';
import type { StoredObject } from './stored-object.entity.js';

/** What is no larger is read at once and sent in one piece. */
const SMALL_BYTES = 256 * 1024;

/** Headers that may have less sent than all of an object. */
const SELECTIVE = ['range', 'if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since'];

/** The content of a blob, read before it was sure to be sent. */
export interface ReadAhead {
  blobId: string;
  bytes: Promise<Buffer>;
}

export interface Sending {
  object: StoredObject;
  ahead?: ReadAhead | undefined;
  /** The same once more: what was found may be replaced before it is opened. */
  again: () => Promise<StoredObject | null>;
  headers: OutgoingHttpHeaders;
}

/** Sends objects, whole or in parts, as fast as they are taken and no faster. */
@Injectable()
export class ObjectSender {
  constructor(
    private readonly blobs: BlobStore,
    private readonly slots: AnswerSlots,
  ) {}

  /** Begins to read what will probably be sent of an object, where that is little. */
  readAhead({ method, headers }: IncomingMessage, { blobId, size }: StoredObject): ReadAhead | undefined {
    if (method !== 'GET' || size === 0 || size > SMALL_BYTES) return undefined;
    if (SELECTIVE.some((name) => headers[name] !== undefined)) return undefined;
    const bytes = this.blobs.read(blobId, { start: 0, end: size - 1 });
    // Who asks for it hears of it.
    bytes.catch(() => undefined);
    return { blobId, bytes };
  }

  async send(request: IncomingMessage, response: ServerResponse, sending: Sending): Promise<void> {
    const { object, headers } = sending;
    const { etag, modifiedAt, size } = object;
    const verdict = judgeConditions(request.method ?? '', request.headers, object);
    if (verdict === 'failed') {
      throw new DomainError('precondition_failed', 'precondition_failed', 'The object is not the one you expect.');
    }
    const described = { ...headers, ETag: etag, 'Last-Modified': modifiedAt.toUTCString(), 'Accept-Ranges': 'bytes' };
    if (verdict === 'not_modified') {
      response.writeHead(304, described).end();
      return;
    }
    const holds = request.method === 'GET' && rangeHolds(request.headers['if-range'] as string, etag);
    const range = holds ? parseRange(request.headers.range, size) : null;
    if (range === 'unsatisfiable') {
      response.setHeader('Content-Range', `bytes */${size}`);
      throw new DomainError('range_not_satisfiable', 'range_not_satisfiable', `The object has ${size} bytes.`);
    }
    const part = range ?? { start: 0, end: size - 1 };
    const body = request.method === 'HEAD' || size === 0 ? null : await this.open(request, sending, part);
    if (body === 'gone') return this.sendAgain(request, response, sending);
    response.writeHead(range ? 206 : 200, {
      ...described,
      'X-Content-SHA256': object.sha256,
      'Content-Type': object.contentType,
      'Content-Length': part.end - part.start + 1,
      ...(range ? { 'Content-Range': `bytes ${part.start}-${part.end}/${size}` } : {}),
    });
    if (body === null || Buffer.isBuffer(body)) response.end(body ?? undefined);
    // Where the client goes away or the store does, an answer that is cut short is all that can be told.
    else await sendPaced(body, response).catch(() => response.destroy());
  }

  private async sendAgain(request: IncomingMessage, response: ServerResponse, sending: Sending): Promise<void> {
    const object = await sending.again();
    if (!object) throw notFound();
    if (object.blobId === sending.object.blobId) {
      throw unavailable('object_store', new Error(`the blob ${object.blobId} is missing`));
    }
    await this.send(request, response, { ...sending, object });
  }

  private async open(
    request: IncomingMessage,
    { object: { blobId, size }, ahead }: Sending,
    part: ByteRange,
  ): Promise<Buffer | AnswerSource | 'gone'> {
    try {
      const length = part.end - part.start + 1;
      if (length > SMALL_BYTES) {
        return await this.slots.open(clientAddress(request), () => this.blobs.open(blobId, part));
      }
      const isAhead = ahead?.blobId === blobId && length === size;
      const bytes = await (isAhead ? ahead.bytes : this.blobs.read(blobId, part));
      if (bytes.length === length) return bytes;
      throw unavailable('object_store', new Error(`the blob ${blobId} is shorter than its object`));
    } catch (error) {
      if (!(error instanceof BlobError)) throw error;
      if (error.code === 'not_found') return 'gone';
      throw unavailable('object_store', error);
    }
  }
}

/** Has browsers save the object under the last part of its key. */
export function asAttachment(key: Buffer): string {
  return contentDisposition(key.toString('utf8').split('/').at(-1) || 'object');
}
