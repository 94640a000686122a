import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Principal } from '../../../platform/auth/principal.js';
import { ObjectSender, asAttachment } from './object-sender.reader.js';
import { ObjectsService } from './objects.service.js';

/** Objects for their owners, by a key or by a session: saved and never shown, as the panel lives at the same origin. */
@Injectable()
export class ObjectDownloads {
  constructor(
    private readonly objects: ObjectsService,
    private readonly sender: ObjectSender,
  ) {}

  async send(caller: Principal, bucketId: string, key: string, request: Request, response: Response): Promise<void> {
    const find = () => this.objects.find(caller, bucketId, key);
    const object = await find();
    const headers = {
      'Content-Disposition': asAttachment(object.key),
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    };
    await this.sender.send(request, response, { object, again: find, headers });
  }
}
