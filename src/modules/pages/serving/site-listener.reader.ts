import { Injectable } from '@nestjs/common';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { Config } from '../../../config/config.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { ClientAddresses } from '../../../platform/http/client-address.js';
import { endServer } from '../../../platform/http/end-server.js';
import { sendPaced, type AnswerSource } from '../../../platform/http/paced-answer.js';
import { requestTarget } from '../../../platform/http/request-target.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { hostOf } from '../domains/domain-name.js';
import { CertificatePermission } from './certificate-permission.service.js';
import { plainPage } from './plain-page.js';
import { SiteAnswers, type SiteAnswer, type SiteRequest } from './site-answer.reader.js';
import { SiteLookUps, type Shown } from './site-look-ups.service.js';

const METHODS = 'GET, HEAD, OPTIONS';
const ORIGIN_HOST = '127.0.0.1';
const ASK = '/tls/ask?domain=';
/** Nobody reads the bodies of requests that have none. */
const OPTIONS = { optimizeEmptyRequests: true } as const;
/** A site that is switched all the time is not looked at for ever. */
const MAX_LOOKS = 3;

/**
 * What answers for all sites. One listener speaks plain HTTP with everybody; the other one is for the edge, which has done
 * away with TLS before.
 */
@Injectable()
export class SiteListener {
  private readonly plain: Server;
  private readonly origin: Server;
  private readonly requests;
  private readonly counters = new Map<number, { inc(): void }>();
  private readonly addresses: { plain: ClientAddresses; origin: ClientAddresses };

  constructor(
    metrics: Metrics,
    private readonly config: Config,
    private readonly lookUps: SiteLookUps,
    private readonly answers: SiteAnswers,
    private readonly permission: CertificatePermission,
    private readonly log: AppLogger,
  ) {
    this.requests = metrics.counter('berth_site_requests_total', 'Requests for sites', ['status']);
    const { trustedProxies } = config;
    this.addresses = {
      plain: new ClientAddresses(trustedProxies),
      // Of who comes to the edge, it alone tells.
      origin: new ClientAddresses([...trustedProxies, ORIGIN_HOST]),
    };
    this.plain = serverOf((request, response) => this.handle(request, response, false));
    this.origin = serverOf((request, response) => {
      if (isAsk(request)) void this.answerAsk(request, response);
      else this.handle(request, response, true);
    });
    for (const server of [this.plain, this.origin]) {
      server.headersTimeout = 15_000;
      server.requestTimeout = 30_000;
      server.keepAliveTimeout = 65_000;
      server.setTimeout(120_000);
    }
  }

  async open(): Promise<void> {
    const { pagesHost, pagesHttpPort, pagesOriginPort } = this.config;
    this.plain.listen(pagesHttpPort, pagesHost);
    await once(this.plain, 'listening');
    this.origin.listen(pagesOriginPort, ORIGIN_HOST);
    await once(this.origin, 'listening');
  }

  async close(): Promise<void> {
    await Promise.all([endServer(this.plain), endServer(this.origin)]);
  }

  get port(): number {
    return (this.plain.address() as { port: number } | null)?.port ?? 0;
  }

  private handle(request: IncomingMessage, response: ServerResponse, secure: boolean): void {
    try {
      const done = this.respond(request, response, secure);
      if (done instanceof Promise) done.catch((error: unknown) => this.fail(response, error, 503));
    } catch (error) {
      // Whatever may fail elsewhere does so in a promise.
      this.fail(response, error, 500);
    }
  }

  /** Waits for nothing where all is in memory. */
  private respond(request: IncomingMessage, response: ServerResponse, secure: boolean): void | Promise<void> {
    const { method, headers } = request;
    const { url, authority } = requestTarget(request.url ?? '');
    const host = hostOf(authority ?? headers.host);
    if (host === null || !url.startsWith('/') || hasTwoHosts(request)) return this.send(response, plainPage(400));
    const shown = this.lookUps.find(host);
    if (shown instanceof Promise) {
      return shown.then((found) => this.show({ request, response, secure, host, method, url }, found, 1));
    }
    return this.show({ request, response, secure, host, method, url }, shown, 1);
  }

  private show(work: Work, shown: Shown | null, looks: number): void | Promise<void> {
    const { response, method, url, secure, request } = work;
    if (!shown) return this.send(response, plainPage(404));
    if (!secure && shown.secureUrl !== null) return this.send(response, toSecure(shown.secureUrl, url));
    if (method !== 'GET' && method !== 'HEAD') return this.send(response, otherMethod(method));
    const client = (): string => this.addresses[secure ? 'origin' : 'plain'].of(request);
    const asked: SiteRequest = { method, url, headers: request.headers, client };
    const answer = this.answers.answer(shown, asked);
    if (answer instanceof Promise) {
      return answer.then(
        (found) => this.sendIfStill(work, shown, found, looks),
        (error: unknown) => this.lookAgain(work, shown, looks, error),
      );
    }
    return this.send(response, answer ?? plainPage(404));
  }

  /** While the answer was put together the site may have gone. */
  private async sendIfStill(work: Work, shown: Shown, answer: SiteAnswer | null, looks: number): Promise<void> {
    let now: Shown | null;
    try {
      now = await this.lookUps.find(work.host);
    } catch (error) {
      await leave(answer);
      throw error;
    }
    if (now?.deploymentId === shown.deploymentId || (now && looks >= MAX_LOOKS)) {
      return this.send(work.response, answer ?? plainPage(404));
    }
    await leave(answer);
    return this.show(work, now, looks + 1);
  }

  /** What could not be read may have been removed because something else took its place. */
  private async lookAgain(work: Work, shown: Shown, looks: number, error: unknown): Promise<void> {
    const now = await this.lookUps.find(work.host);
    if (now?.deploymentId === shown.deploymentId || looks >= MAX_LOOKS) throw error;
    return this.show(work, now, looks + 1);
  }

  private send(response: ServerResponse, { status, headers, body }: SiteAnswer): void | Promise<void> {
    this.count(status);
    response.writeHead(status, headers);
    // Where the client goes away or the store does, an answer that is cut short is all that can be told.
    if (isSource(body)) return sendPaced(body, response).catch(() => void response.destroy());
    response.end(body ?? undefined);
  }

  private count(status: number): void {
    let counter = this.counters.get(status);
    if (!counter) this.counters.set(status, (counter = this.requests.labels(String(status))));
    counter.inc();
  }

  private fail(response: ServerResponse, error: unknown, status: 500 | 503): void {
    const refused = error instanceof DomainError && error.kind === 'rate_limited';
    if (!refused) this.log.warn({ err: error }, 'a site could not be shown');
    if (response.headersSent) response.destroy();
    else void this.send(response, plainPage(refused ? 429 : status));
  }

  private async answerAsk(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const domain = new URL(request.url!, 'http://origin').searchParams.get('domain') ?? '';
    let status = 503;
    try {
      status = (await this.permission.mayHave(domain)) ? 200 : 404;
    } catch (error) {
      this.log.warn({ err: error }, 'the edge could not be told who may have a certificate');
    }
    response.writeHead(status, { 'Content-Length': 0 }).end();
  }
}

interface Work {
  request: IncomingMessage;
  response: ServerResponse;
  secure: boolean;
  host: string;
  method: string | undefined;
  url: string;
}

function isSource(body: SiteAnswer['body']): body is AnswerSource {
  return body !== null && !Buffer.isBuffer(body);
}

async function leave(answer: SiteAnswer | null): Promise<void> {
  if (answer && isSource(answer.body)) await answer.body.close();
}

function serverOf(take: RequestListener): Server {
  // Left to Node, what expects something would be answered before everything that holds for all requests.
  return createServer(OPTIONS, take).on('checkExpectation', take);
}

/** The edge's own question; what it passes on from elsewhere has a header that says so, and no site is called by an address. */
function isAsk({ url = '', headers }: IncomingMessage): boolean {
  if (!url.startsWith(ASK) || headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) return false;
  return isIP((headers.host ?? '').replace(/:\d+$/, '')) === 4;
}

function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

function toSecure(origin: string, url: string): SiteAnswer {
  const headers = ['Location', `${origin}${url}`, 'Cache-Control', 'no-store', 'Content-Length', '0'];
  return { status: 308, headers, body: null };
}

function otherMethod(method: string | undefined): SiteAnswer {
  if (method === 'OPTIONS') return { status: 204, headers: ['Allow', METHODS], body: null };
  return { status: 405, headers: ['Allow', METHODS, 'Content-Length', '0', 'Connection', 'close'], body: null };
}
