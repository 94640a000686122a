import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { BlobError, BlobStore } from '../../../drivers/objects/blob-store.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { DomainError, unavailable } from '../../../platform/errors/domain-error.js';
import { pacedBody } from '../../../platform/http/paced-body.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { objectView, type ObjectView } from '../dto/object.dto.js';
import { readContentType } from '../objects/content-type.js';
import { UploadLedger, type Upload, type UploadTarget } from '../objects/upload-ledger.service.js';
import { UploadSlots } from './upload-slots.js';

export interface Uploaded {
  object: ObjectView;
  isNew: boolean;
}

interface Announced {
  size: number | undefined;
  contentType: string;
}

/** Far below the silence that makes somebody else give an upload up. */
const SIGN_OF_LIFE_MS = 10_000;

/** Takes objects in as their bytes come. Until the last of them is on the disk, what was under the key is there untouched. */
@Injectable()
export class ObjectUploads {
  constructor(
    private readonly ledger: UploadLedger,
    private readonly blobs: BlobStore,
    private readonly slots: UploadSlots,
    private readonly log: AppLogger,
  ) {}

  async put(caller: Principal, bucketId: string, key: string, request: Request): Promise<Uploaded> {
    mustBePlain(request);
    const contentType = readContentType(request.headers['content-type']);
    const size = announcedSize(request);
    const target: UploadTarget = { caller, bucketId, key: Buffer.from(key), headers: request.headers };
    return this.slots.uploading(caller.accountId, size, () => this.receive(target, request, { size, contentType }));
  }

  private async receive(target: UploadTarget, request: Request, { size, contentType }: Announced): Promise<Uploaded> {
    const upload = await this.ledger.begin(target, this.blobs.newId(), size);
    const alive = setInterval(() => void this.keepAlive(upload, request), SIGN_OF_LIFE_MS);
    try {
      const { sha256, ...stored } = await this.blobs.put(upload.blobId, this.metered(upload, request), { size });
      const { object, isNew } = await this.ledger.commit(upload, { size: stored.size, sha256, contentType });
      return { object: objectView(object), isNew };
    } catch (error) {
      await this.giveUp(upload);
      throw error instanceof BlobError ? unavailable('object_store', error) : error;
    } finally {
      clearInterval(alive);
    }
  }

  /** The body, which gets no further than the room it holds. */
  private async *metered(upload: Upload, request: Request): AsyncGenerator<Buffer> {
    let size = 0;
    for await (const chunk of pacedBody(request)) {
      size += chunk.length;
      if (size > upload.room) await this.ledger.extend(upload, size);
      yield chunk;
    }
  }

  private async keepAlive(upload: Upload, request: Request): Promise<void> {
    try {
      if (!(await this.ledger.touch(upload))) request.destroy(new Error('the upload was given up'));
    } catch (error) {
      this.log.warn({ err: error }, 'an upload could not give a sign of life');
    }
  }

  /** What cannot be cleared away now is so when its row has been silent for long enough. */
  private async giveUp(upload: Upload): Promise<void> {
    try {
      await this.ledger.abandon(upload);
    } catch (error) {
      this.log.warn({ err: error, blobId: upload.blobId }, 'an upload that failed could not be cleared away yet');
    }
  }
}

function mustBePlain({ headers }: Request): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (!['', 'identity'].includes(encoding)) {
    throw new DomainError(
      'unsupported_media_type',
      'unsupported_encoding',
      'The content is stored as it is sent, so it must not have a Content-Encoding.',
    );
  }
  const coding = headers['transfer-encoding']?.trim().toLowerCase() ?? '';
  if (!['', 'chunked'].includes(coding)) {
    throw new DomainError(
      'unsupported_media_type',
      'unsupported_encoding',
      'chunked is the only Transfer-Encoding that is known.',
    );
  }
  // RFC 9110, section 14.5: taken for the whole, a part would end what is there.
  if (headers['content-range'] !== undefined) {
    throw new DomainError('bad_request', 'partial_put', 'An object is put whole: Content-Range is not known here.');
  }
}

/** Undefined for a body in chunks, whose size only its end tells. */
function announcedSize({ headers }: Request): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}
