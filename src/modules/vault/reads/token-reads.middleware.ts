import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { Request, Response } from 'express';
import { encodeDotenv, nonportableHeader } from '../../../platform/dotenv/dotenv-encoder.js';
import { clientAddress } from '../../../platform/http/client-address.js';
import type { OpenedSecrets } from '../store/opened-secrets.js';
import { TokenReads } from './token-reads.service.js';

/*
 * The door for programs that have no broker: the runtime token of a service opens its secrets, and nothing else. They are
 * routes of the router like any other, but stand before Nest's own: there is no key, no scope, no body and no parameter for
 * guards, interceptors and pipes to look at, and this is what programs ask most often.
 */

abstract class TokenDoor implements NestMiddleware {
  constructor(private readonly reads: TokenReads) {}

  async use(request: Request, response: Response): Promise<void> {
    response.setHeader('Cache-Control', 'no-store');
    const opened = await this.reads.open(request.headers.authorization, clientAddress(request));
    // Wiped once the answer is out, or when nobody waits for it any more.
    response.once('close', () => opened.release());
    if (response.closed) return opened.release();
    const body = this.answer(opened, response);
    response.setHeader('Content-Length', body.length);
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  protected abstract answer(opened: OpenedSecrets, response: Response): Buffer;
}

/** GET /vault/v1/secrets */
@Injectable()
export class SecretsDoor extends TokenDoor {
  constructor(reads: TokenReads) {
    super(reads);
  }

  protected override answer(opened: OpenedSecrets, response: Response): Buffer {
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    return opened.json;
  }
}

/** GET /vault/v1/env */
@Injectable()
export class EnvDoor extends TokenDoor {
  constructor(reads: TokenReads) {
    super(reads);
  }

  protected override answer({ secrets }: OpenedSecrets, response: Response): Buffer {
    const { text, nonportable } = encodeDotenv(
      secrets.map(({ key, value }) => ({ key, value: value.toString('utf8') })),
    );
    const header = nonportableHeader(nonportable);
    if (header !== null) response.setHeader('X-Vault-Nonportable', header);
    response.setHeader('Content-Type', 'text/plain; charset=utf-8');
    return Buffer.from(text, 'utf8');
  }
}
