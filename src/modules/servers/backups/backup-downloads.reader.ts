import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { BlobError, BlobStore, type ByteRange } from '../../../drivers/objects/blob-store.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { DomainError, stateConflict, unavailable } from '../../../platform/errors/domain-error.js';
import { AnswerSlots } from '../../../platform/http/answer-slots.js';
import { parseRange, rangeHolds } from '../../../platform/http/byte-range.js';
import { clientAddress } from '../../../platform/http/client-address.js';
import { sendPaced, type AnswerSource } from '../../../platform/http/paced-answer.js';
import type { Backup } from './backup.entity.js';
import { BackupsService } from './backups.service.js';

export const ARCHIVE_TYPE = 'application/zstd';

/** Sends archives, whole or in parts, as fast as they are taken and no faster. */
@Injectable()
export class BackupDownloads {
  constructor(
    private readonly backups: BackupsService,
    private readonly blobs: BlobStore,
    private readonly slots: AnswerSlots,
  ) {}

  async send(caller: Principal, serverId: string, uuid: string, request: Request, response: Response): Promise<void> {
    const backup = await this.backups.findOwned(caller, serverId, uuid);
    const { bytes, checksum, completedAt } = backup;
    if (bytes === null || checksum === null || completedAt === null || backup.status === 'FAILED') {
      throw stateConflict('download', backup.status);
    }
    const etag = `"${checksum}"`;
    const holds = rangeHolds(request.headers['if-range'] as string | undefined, etag);
    const range = holds ? parseRange(request.headers.range, bytes) : null;
    if (range === 'unsatisfiable') {
      response.setHeader('Content-Range', `bytes */${bytes}`);
      throw new DomainError('range_not_satisfiable', 'range_not_satisfiable', `The archive has ${bytes} bytes.`);
    }
    const archive = await this.open(request, backup, range);
    try {
      await this.backups.recordDownload(caller, serverId, backup);
      response.status(range ? 206 : 200).set({
        'Accept-Ranges': 'bytes',
        'Content-Type': ARCHIVE_TYPE,
        'Content-Disposition': disposition(backup),
        'Content-Length': String(range ? range.end - range.start + 1 : bytes),
        ETag: etag,
        'Last-Modified': completedAt.toUTCString(),
        ...(range ? { 'Content-Range': `bytes ${range.start}-${range.end}/${bytes}` } : {}),
      });
      if (request.method === 'HEAD') response.end();
      else await sendPaced(archive, response);
    } catch (error) {
      if (!response.headersSent) throw error;
      // The client went away, or the store did: an answer that is cut short is all that can be told now.
      response.destroy();
    } finally {
      await archive.close();
    }
  }

  private async open(request: Request, { blobId, bytes }: Backup, range: ByteRange | null): Promise<AnswerSource> {
    try {
      const { size } = await this.blobs.stat(blobId ?? '');
      if (size !== bytes) throw unavailable('archive', new Error('the blob has another size than was stored'));
      const part = range ?? { start: 0, end: size - 1 };
      return await this.slots.open(clientAddress(request), () => this.blobs.open(blobId ?? '', part));
    } catch (error) {
      if (error instanceof BlobError) throw unavailable('object_store', error);
      throw error;
    }
  }
}

/** A name that every file system takes; the other form has the backup's own, for those who read it (RFC 6266). */
function disposition({ name, uuid }: Backup): string {
  const full = encodeURIComponent(`${name}.tar.zst`).replace(/['()*]/g, percent);
  return `attachment; filename="backup-${uuid}.tar.zst"; filename*=UTF-8''${full}`;
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
