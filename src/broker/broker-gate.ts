import { Injectable } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pathOf, sendProblem, type Problem } from '../platform/http/problem.js';
import type { Caller } from './caller.js';
import { CallerMap } from './caller-map.js';
import { BrokerSettings } from './broker-settings.js';
import { refusalOf } from './request-rules.js';
import { SecretReads } from './secret-reads.service.js';
import { StrangerLog } from './stranger-log.js';

/** How long a call may be ahead of the engine's news that its container runs. */
const AHEAD_MS = 1000;

const UNKNOWN: Problem = { status: 403, code: 'unknown_caller', detail: 'This address is of no running service.' };
const CANNOT_TELL: Problem = {
  status: 503,
  code: 'engine_unavailable',
  detail: 'It cannot be told at the moment who is calling.',
  headers: { 'Retry-After': '1' },
};

/**
 * What every request meets first. Who it comes from is told by the address of its connection's other end and by nothing
 * in it, and a connection belongs to the run of the service that made it: to none after that.
 */
@Injectable()
export class BrokerGate {
  private readonly owners = new WeakMap<Socket, Caller>();

  constructor(
    private readonly settings: BrokerSettings,
    private readonly map: CallerMap,
    private readonly reads: SecretReads,
    private readonly strangers: StrangerLog,
  ) {}

  /** `next` is told which service asks; who may not ask is answered here. */
  pass(request: IncomingMessage, response: ServerResponse, next: (caller: Caller) => void): void {
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    const address = request.socket.remoteAddress ?? '';
    const caller = this.map.at(address);
    if (caller) this.admit(caller, request, response, next);
    else void this.waitFor(address, request, response, next);
  }

  private async waitFor(
    address: string,
    request: IncomingMessage,
    response: ServerResponse,
    next: (caller: Caller) => void,
  ): Promise<void> {
    const caller = await this.map.awaited(address, AHEAD_MS);
    if (caller) this.admit(caller, request, response, next);
    else if (this.map.knows) this.refuseStranger(address, request, response);
    else sendProblem(request, response, CANNOT_TELL);
  }

  private admit(
    caller: Caller,
    request: IncomingMessage,
    response: ServerResponse,
    next: (caller: Caller) => void,
  ): void {
    const { socket } = request;
    const owner = this.owners.get(socket);
    if (owner === undefined) this.owners.set(socket, caller);
    else if (owner !== caller) {
      this.refuseStranger(caller.address, request, response);
      return;
    }
    const refusal = refusalOf(request, this.settings);
    if (refusal) {
      const { status, reason, detail } = refusal;
      this.reads.refused(caller, reason);
      // What follows on this connection may be the body of what was refused.
      response.setHeader('Connection', 'close');
      if (status === 405) response.setHeader('Allow', 'GET, HEAD');
      sendProblem(request, response, { status, code: `${reason}_refused`, detail });
      return;
    }
    next(caller);
  }

  private refuseStranger(address: string, request: IncomingMessage, response: ServerResponse): void {
    this.strangers.called(address);
    response.setHeader('Connection', 'close');
    if (pathOf(request) === '/v1/health') {
      response.writeHead(403, { 'Content-Type': 'application/json; charset=utf-8' }).end('{"ok":false}');
    } else sendProblem(request, response, UNKNOWN);
  }
}
