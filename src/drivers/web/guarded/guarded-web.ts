import { getCACertificates } from 'node:tls';
import { Agent, buildConnector, errors } from 'undici';
import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';
import { Web, WebError, WebSession, type Edge, type Hop, type WebAnswer, type WebRequest } from '../web.js';
import { AddressGuard, type AddressRules } from './address-rules.js';
import { readBody } from './body-reader.js';
import { GuardedConnector, type Dial, type Resolve } from './connector.js';

const MAX_REDIRECTS = 5;
const CONNECT_MS = 10_000;
const MAX_HEADER_BYTES = 16_384;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface GuardedWebOptions {
  rules: AddressRules;
  resolve: Resolve;
  /** What tells whom to complain to. */
  userAgent: string;
  /** Makes the connections, once they are allowed. */
  dial?: Dial;
}

/** The public web: what a request names is held against the rules whenever a connection is made. */
export class GuardedWeb extends Web {
  private readonly guard: AddressGuard;

  constructor(private readonly options: GuardedWebOptions) {
    super();
    this.guard = new AddressGuard(options.rules);
  }

  override open(edges: readonly Edge[] = []): WebSession {
    const { resolve, userAgent } = this.options;
    const dial = this.dialWith();
    const ours = edges.map((edge) => ({ ...edge, dial: edge.ca === undefined ? dial : this.dialWith(edge.ca) }));
    const { connect } = new GuardedConnector(this.guard, resolve, dial, ours);
    const agent = new Agent({
      connect,
      connections: 4,
      pipelining: 1,
      headersTimeout: CONNECT_MS,
      bodyTimeout: CONNECT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    return new GuardedSession(agent, userAgent);
  }

  /** One that believes this authority as well. */
  private dialWith(ca?: string): Dial {
    const { dial } = this.options;
    const trust = ca === undefined ? {} : { ca: [...getCACertificates(), ca] };
    return dial ?? buildConnector({ timeout: CONNECT_MS, maxCachedSessions: 0, allowH2: false, ...trust });
  }
}

class GuardedSession extends WebSession {
  constructor(
    private readonly agent: Agent,
    private readonly userAgent: string,
  ) {
    super();
  }

  override async fetch(url: URL, request: WebRequest): Promise<WebAnswer> {
    const begin = performance.now();
    const hops: Hop[] = [];
    for (let at = url; ;) {
      mustBeAskable(at);
      const answer = await this.ask(at, request).catch((error: unknown) => {
        throw faultOf(error);
      });
      const to = redirectOf(answer, at);
      if (!to || !request.follows(to)) return { ...answer, hops, ms: Math.round(performance.now() - begin) };
      hops.push({ url: at.href, status: answer.status });
      if (hops.length > MAX_REDIRECTS) throw new WebError('too_many_redirects');
      at = to;
    }
  }

  override async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async ask(
    url: URL,
    { method = 'GET', wants, signal, ...limits }: WebRequest,
  ): Promise<Omit<WebAnswer, 'hops'>> {
    const begin = performance.now();
    const answer = await this.agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: { 'user-agent': this.userAgent, accept: '*/*', 'accept-encoding': 'gzip, br, deflate' },
      signal,
      responseHeaders: 'raw',
    });
    const firstByteMs = Math.round(performance.now() - begin);
    const headers = pairsOf(answer.headers as unknown as Buffer[] | string[]);
    const one = (name: string): string | undefined => headers.find(([other]) => other === name)?.[1];
    const base = { url: url.href, status: answer.statusCode, headers, firstByteMs, ms: 0 };
    const mediaType = (one('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
    const wanted = method === 'GET' && !REDIRECTS.has(answer.statusCode) && (wants?.(mediaType) ?? true);
    if (wanted) return { ...base, ...(await readBody(answer.body, one('content-encoding'), limits)) };
    // Nobody reads on, so its connection goes as well.
    answer.body.on('error', () => undefined).destroy();
    return { ...base, body: Buffer.alloc(0), bytes: 0, truncated: false };
  }
}

/** Schemes, credentials and lengths that no address may have. Addresses and ports are the connector's to judge. */
function mustBeAskable(url: URL): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new WebError('scheme_refused');
  if (url.username !== '' || url.password !== '') throw new WebError('credentials_refused');
  if (url.href.length > MAX_URL_LENGTH) throw new WebError('address_too_long');
  if (url.hostname.length > 253) throw new WebError('dns_failed');
}

function redirectOf({ status, headers }: Pick<WebAnswer, 'status' | 'headers'>, from: URL): URL | undefined {
  const location = headers.find(([name]) => name === 'location')?.[1];
  if (!REDIRECTS.has(status) || location === undefined || !URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  to.hash = '';
  return to;
}

function pairsOf(raw: readonly (Buffer | string)[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([text(raw[i]!).toLowerCase(), text(raw[i + 1]!)]);
  return pairs;
}

function text(value: Buffer | string): string {
  return typeof value === 'string' ? value : value.toString('latin1');
}

const TLS = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_OSSL)/;
const TIMEOUTS = ['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'];

function faultOf(error: unknown): WebError {
  if (error instanceof WebError) return error;
  const { name, code = '' } = error as { name?: string; code?: string };
  if (name === 'TimeoutError' || name === 'AbortError' || TIMEOUTS.includes(code))
    return new WebError('timeout', error);
  if (TLS.test(code)) return new WebError('tls_error', error);
  const broken = error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError;
  if (broken || /^HPE_/.test(code)) return new WebError('bad_response', error);
  return new WebError('connect_failed', error);
}
