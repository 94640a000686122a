import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { nonportableHeader } from '../platform/dotenv/dotenv-encoder.js';
import { notFound } from '../platform/errors/domain-error.js';
import { HeldAnswers, type HeldAnswer } from '../platform/http/held-answers.js';
import { reportedProblem } from '../platform/http/problem-mapping.js';
import { pathOf, sendProblem } from '../platform/http/problem.js';
import { AppLogger } from '../platform/observability/logger.js';
import { BrokerGate } from './broker-gate.js';
import type { Caller } from './caller.js';
import { CallerMap } from './caller-map.js';
import { SecretBytes } from './secret-bytes.js';
import { SecretReads } from './secret-reads.service.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const LINES_TYPE = 'text/plain; charset=utf-8';
/** Not thirty at a time for one service: more can only be wanted by who does not read them. Programs are near. */
const OUTSTANDING = { leastBytes: 512 * 1024, withinMs: 15_000 };

type Route = (caller: Caller, response: ServerResponse, held: HeldAnswer) => Promise<void>;

/**
 * What programs may ask, by path; the gate has let only GET and HEAD through. Three routes without parameters or bodies need
 * no framework between them and the socket, and every read of secrets is spared it.
 */
@Injectable()
export class BrokerRoutes {
  private readonly routes = new Map<string, Route>([
    ['/v1/secrets', (caller, response, held) => this.secrets(caller, response, held)],
    ['/v1/env', (caller, response, held) => this.env(caller, response, held)],
    ['/v1/health', (caller, response, held) => this.health(caller, response, held)],
  ]);
  private readonly outstanding = new HeldAnswers(OUTSTANDING);

  constructor(
    private readonly gate: BrokerGate,
    private readonly reads: SecretReads,
    private readonly callers: CallerMap,
    private readonly log: AppLogger,
  ) {}

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.gate.pass(request, response, (caller) => void this.answer(caller, request, response));
  };

  private async answer(caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    try {
      const held = this.outstanding.begin(caller.serverId, response);
      const route = this.routes.get(path);
      if (!route) throw notFound();
      await route(caller, response, held);
    } catch (error) {
      sendProblem(request, response, reportedProblem(error, this.log, path));
    }
  }

  private async secrets(caller: Caller, response: ServerResponse, held: HeldAnswer): Promise<void> {
    const { json } = await this.reads.read(caller);
    response.setHeader('Content-Type', JSON_TYPE);
    this.send(caller, response, held, json);
  }

  private async env(caller: Caller, response: ServerResponse, held: HeldAnswer): Promise<void> {
    const secrets = await this.reads.read(caller);
    const { lines, nonportable } = secrets.env();
    secrets.release();
    const named = nonportableHeader(nonportable);
    if (named !== null) response.setHeader('X-Vault-Nonportable', named);
    response.setHeader('Content-Type', LINES_TYPE);
    this.send(caller, response, held, lines);
  }

  /** Tells the calling service that the broker knows it. */
  private health({ serverId }: Caller, response: ServerResponse, held: HeldAnswer): Promise<void> {
    response.setHeader('Content-Type', JSON_TYPE);
    held.end(Buffer.from(JSON.stringify({ ok: true, service: serverId })));
    return Promise.resolve();
  }

  /** Each answer is overwritten in memory once it is out. */
  private send(caller: Caller, response: ServerResponse, held: HeldAnswer, secrets: SecretBytes): void {
    // The run that asked may be over meanwhile, and its address may be another's one day.
    if (!this.callers.holds(caller) || response.destroyed) {
      secrets.release();
      response.destroy();
      return;
    }
    try {
      held.weigh(secrets.bytes.length);
    } catch (error) {
      secrets.release();
      throw error;
    }
    response.once('close', () => secrets.release());
    response.setHeader('Content-Length', secrets.bytes.length);
    // A HEAD's answer has no body; Node leaves it out.
    held.end(secrets.bytes);
  }
}
