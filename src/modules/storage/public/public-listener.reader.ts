import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Config } from '../../../config/config.js';
import { DomainError, notFound } from '../../../platform/errors/domain-error.js';
import { ClientAddresses } from '../../../platform/http/client-address.js';
import { endServer } from '../../../platform/http/end-server.js';
import { entry } from '../../../platform/http/entry.js';
import { ListedHeadersResponse } from '../../../platform/http/listed-headers-response.js';
import { decodeExactly } from '../../../platform/http/percent-encoding.js';
import { requestTarget } from '../../../platform/http/request-target.js';
import { reportedProblem } from '../../../platform/http/problem-mapping.js';
import { sendProblem } from '../../../platform/http/problem.js';
import { RateLimiter } from '../../../platform/http/rate-limit.js';
import { SlidingLogStorage } from '../../../platform/http/rate-limit.storage.js';
import { Shutdown } from '../../../platform/http/shutdown.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { RequestLog } from '../../../platform/observability/request-log.js';
import { isId } from '../../../platform/ids/id.js';
import { mayBeShown } from '../objects/content-type.js';
import { MAX_KEY_BYTES } from '../objects/object-key.js';
import { ObjectSender, asAttachment, type ReadAhead } from '../objects/object-sender.reader.js';
import type { StoredObject } from '../objects/stored-object.entity.js';
import { publicAddress, PublicObjects, type PublicAddress } from './public-objects.service.js';

const PREFIX = '/storage/public/';
const ROUTE = `${PREFIX}:bucketId/*key`;
const METHODS = 'GET, HEAD, OPTIONS';
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** How long others may keep an answer, and with it how long they may show what is not public any more. */
const KEPT_SECONDS = 60;

/**
 * Holds for every answer. The tenants share this origin, so nothing that any of them puts here may run in it: `sandbox`
 * gives each page an origin of its own and lets it run no script.
 */
const HEADERS = Object.entries({
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy':
    "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag, X-Content-SHA256, X-Request-Id',
  'Referrer-Policy': 'no-referrer',
});

/** What Express would have noted of a request, and what the listener does beside it. */
type ObjectRequest = Omit<Request, 'path'> & {
  path: string;
  /** What the path names, if it may name anything. */
  address: PublicAddress | null;
  /** The look-up of it, begun while the limit was asked. */
  found?: Promise<StoredObject | null>;
  /** The content, read meanwhile if it is likely to be what will be found. */
  ahead?: ReadAhead | undefined;
};

/** The origin of public objects: a listener of its own, which knows no credential, sets no cookie and has nothing else. */
@Injectable()
export class PublicListener {
  private readonly server: Server;

  constructor(
    config: Config,
    limits: SlidingLogStorage,
    metrics: Metrics,
    shutdown: Shutdown,
    private readonly log: AppLogger,
    private readonly objects: PublicObjects,
    private readonly sender: ObjectSender,
  ) {
    const https = config.cdnUrl.startsWith('https:');
    const enter = entry({
      addresses: new ClientAddresses(config.trustedProxies),
      limiter: new RateLimiter(limits, [{ name: 'cdn', prefix: '', perMinute: config.cdnRateLimitPerMinute }]),
      headers: (_request, response) => {
        for (const [name, value] of HEADERS) response.setHeader(name, value);
        if (https) response.setHeader('Strict-Transport-Security', 'max-age=31536000');
      },
      log: new RequestLog(log, metrics),
      shutdown,
      anticipate: (request) => this.begin(request as ObjectRequest),
    });
    const take = (incoming: IncomingMessage, response: ServerResponse): void => {
      const request = incoming as ObjectRequest;
      request.originalUrl = incoming.url ?? '';
      request.path = pathOf(request.originalUrl);
      request.route = { path: ROUTE };
      request.address = addressOf(request.path);
      void enter(request, response as Response, () => void this.answer(request, response));
    };
    this.server = createServer({ ServerResponse: ListedHeadersResponse }, take);
    // Left to Node, it would be answered before everything that holds for all requests.
    this.server.on('checkExpectation', take);
    this.server.headersTimeout = 15_000;
    this.server.keepAliveTimeout = 65_000;
  }

  async open(host: string, port: number): Promise<void> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
  }

  async close(): Promise<void> {
    await endServer(this.server);
  }

  get port(): number {
    return (this.server.address() as { port: number } | null)?.port ?? 0;
  }

  private begin(request: ObjectRequest): void {
    if (!request.address || !READS.has(request.method)) return;
    const last = this.objects.foundLast(request.address);
    request.found = this.objects.find(request.address);
    // Who asks for it hears of it.
    request.found.catch(() => undefined);
    request.ahead = last && this.sender.readAhead(request, last);
  }

  private async answer(request: ObjectRequest, response: ServerResponse): Promise<void> {
    try {
      await this.handle(request, response);
    } catch (error) {
      sendProblem(request, response, reportedProblem(error, this.log, ROUTE));
    }
  }

  private async handle(request: ObjectRequest, response: ServerResponse): Promise<void> {
    const { method, address } = request;
    if (method === 'OPTIONS') {
      const asked = { 'Access-Control-Allow-Headers': 'Range, If-None-Match, If-Modified-Since, If-Range' };
      response.writeHead(204, { Allow: METHODS, 'Access-Control-Allow-Methods': METHODS, ...asked }).end();
      return;
    }
    if (!READS.has(method)) {
      response.setHeader('Allow', METHODS);
      throw new DomainError('method_not_allowed', 'method_not_allowed', 'The resource does not know this method.');
    }
    if (request.headers['service-worker'] !== undefined) {
      throw new DomainError('forbidden', 'no_service_workers', 'Nothing here may become a service worker.');
    }
    const find = async () => (address ? this.objects.find(address) : null);
    const object = await (request.found ?? find());
    if (!object) throw notFound();
    const headers: OutgoingHttpHeaders = { 'Cache-Control': `public, max-age=${KEPT_SECONDS}` };
    if (!mayBeShown(object.contentType)) headers['Content-Disposition'] = asAttachment(object.key);
    await this.sender.send(request, response, { object, ahead: request.ahead, again: find, headers });
  }
}

function pathOf(url: string): string {
  const [path = ''] = requestTarget(url).url.split('?', 1);
  return path;
}

/** The bucket and the key that a path names, the key as it stands and decoded once; null for none. */
function addressOf(path: string): PublicAddress | null {
  const slash = path.indexOf('/', PREFIX.length);
  if (!path.startsWith(PREFIX) || slash === -1) return null;
  const bucketId = path.slice(PREFIX.length, slash);
  const key = Buffer.from(decodeExactly(path.slice(slash + 1)) ?? '');
  const valid = isId('bkt', bucketId) && key.length > 0 && key.length <= MAX_KEY_BYTES;
  return valid ? publicAddress(bucketId, key) : null;
}
