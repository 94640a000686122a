import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { Request, Response } from 'express';
import { encodeDotenv, nonportableHeader } from '../../../platform/dotenv/dotenv-encoder.js';
import { clientAddress } from '../../../platform/http/client-address.js';
import { HeldAnswers } from '../../../platform/http/held-answers.js';
import type { OpenedSecrets } from '../store/opened-secrets.js';
import { TokenReads } from './token-reads.service.js';

/*
 * The door for programs that have no broker: the runtime token of a service opens its secrets, and nothing else. They are
 * routes of the router like any other, but stand before Nest's own: there is no key, no scope, no body and no parameter for
 * guards, interceptors and pipes to look at, and this is what programs ask most often.
 */

/** Of both doors. Programs and what stands before us may be far away, and what one service reads may be some megabytes. */
const outstanding = new HeldAnswers({ leastBytes: 256 * 1024, withinMs: 60_000 });

abstract class TokenDoor implements NestMiddleware {
  constructor(private readonly reads: TokenReads) {}

  async use(request: Request, response: Response): Promise<void> {
    response.setHeader('Cache-Control', 'no-store');
    const address = clientAddress(request);
    const holder = await this.reads.admit(request.headers.authorization, address);
    const held = outstanding.begin(holder.serverId, response);
    const opened = await this.reads.open(holder, address, held);
    if (response.closed) return opened.release();
    let body: Buffer;
    try {
      body = this.answer(opened, response);
      held.weigh(body.length);
    } catch (error) {
      opened.release();
      throw error;
    }
    // Wiped once the answer is out, or when nobody waits for it any more.
    response.once('close', () => opened.release());
    response.setHeader('Content-Length', body.length);
    held.end(request.method === 'HEAD' ? undefined : body);
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
