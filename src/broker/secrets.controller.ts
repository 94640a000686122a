import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { nonportableHeader } from '../platform/dotenv/dotenv-encoder.js';
import { callerOf } from './broker-gate.js';
import type { Caller } from './caller.js';
import { CallerMap } from './caller-map.js';
import { SecretBytes } from './secret-bytes.js';
import { SecretReads } from './secret-reads.service.js';

/** What programs read. Each answer is overwritten in memory once it is out. */
@Controller('v1')
export class SecretsController {
  constructor(
    private readonly reads: SecretReads,
    private readonly callers: CallerMap,
  ) {}

  @Get('secrets')
  async secrets(@Req() request: Request, @Res() response: Response): Promise<void> {
    const caller = callerOf(request);
    const { json } = await this.reads.read(caller);
    this.send(caller, response, 'application/json; charset=utf-8', json);
  }

  @Get('env')
  async env(@Req() request: Request, @Res() response: Response): Promise<void> {
    const caller = callerOf(request);
    const secrets = await this.reads.read(caller);
    const { lines, nonportable } = secrets.env();
    secrets.release();
    const named = nonportableHeader(nonportable);
    if (named !== null) response.setHeader('X-Vault-Nonportable', named);
    this.send(caller, response, 'text/plain; charset=utf-8', lines);
  }

  private send(caller: Caller, response: Response, type: string, secrets: SecretBytes): void {
    // The run that asked may be over meanwhile, and its address may be another's one day.
    if (!this.callers.holds(caller) || response.destroyed) {
      secrets.release();
      response.destroy();
      return;
    }
    response.once('close', () => secrets.release());
    response.setHeader('Content-Type', type);
    response.setHeader('Content-Length', secrets.bytes.length);
    // A HEAD's answer has no body; Node leaves it out.
    response.end(secrets.bytes);
  }
}
