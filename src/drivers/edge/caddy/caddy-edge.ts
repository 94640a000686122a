import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { connect, type TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { truncate } from '../../../platform/text/truncate.js';
import { Edge, EdgeError, type CertificateFailure, type EdgeSettings, type SeenCertificate } from '../edge.js';
import { AcmeDirectory } from './acme-directory.js';
import { caddyConfig } from './caddy-config.js';

const ADMIN_MS = 15_000;
/** The first handshake for a host lasts as long as it takes to get its certificate. */
const HANDSHAKE_MS = 45_000;
const MAX_REASON = 400;

/** Caddy 2.6 or newer, through its admin API. */
export class CaddyEdge extends Edge {
  private readonly admin: Client;
  private readonly authority = new AcmeDirectory();

  constructor(private readonly adminUrl: string) {
    super();
    const limits = { headersTimeout: ADMIN_MS, bodyTimeout: ADMIN_MS, connectTimeout: 5000 };
    this.admin = adminUrl.startsWith('unix:')
      ? new Client('http://localhost', { socketPath: adminUrl.slice('unix:'.length), ...limits })
      : new Client(adminUrl, limits);
  }

  override async configure(settings: EdgeSettings): Promise<boolean> {
    const wanted = caddyConfig(this.adminUrl, settings);
    if (isDeepStrictEqual(await this.ask('GET', '/config/'), wanted)) return false;
    await this.ask('POST', '/load', wanted);
    return true;
  }

  override async handshake(
    { host: address, httpsPort }: EdgeSettings,
    host: string,
    signal: AbortSignal,
  ): Promise<SeenCertificate | null> {
    const reachable = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
    const ended = AbortSignal.any([signal, AbortSignal.timeout(HANDSHAKE_MS)]);
    // It is looked at, not trusted: what counts is that the edge has it.
    const socket = connect({ host: reachable, port: httpsPort, servername: host, rejectUnauthorized: false });
    try {
      await once(socket, 'secureConnect', { signal: ended });
      return certificateOf(socket);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (ended.aborted || code.startsWith('ERR_SSL_') || code === 'ECONNRESET') return null;
      throw new EdgeError('the edge cannot be reached', { cause: error });
    } finally {
      socket.on('error', () => undefined).destroy();
    }
  }

  override authorityNames(settings: EdgeSettings): Promise<string[]> {
    return this.authority.names(settings);
  }

  override failureIn(line: string): CertificateFailure | null {
    if (!line.includes('"error"')) return null;
    const { level, logger, error, identifier, identifiers, domain } = parse(line);
    if (level !== 'error' && level !== 'warn') return null;
    // What other parts say of a name may be any visitor's doing, or of no weight.
    if (typeof logger !== 'string' || !/^(?:tls\.(?:obtain|renew|issuance)|http\.acme_client)/.test(logger))
      return null;
    const host = [identifier, Array.isArray(identifiers) ? identifiers[0] : undefined, domain].find(
      (candidate) => typeof candidate === 'string',
    );
    if (typeof host !== 'string' || typeof error !== 'string') return null;
    return { host: host.toLowerCase(), reason: plain(error) };
  }

  override async close(): Promise<void> {
    await this.admin.destroy();
  }

  private async ask(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    // By a socket Caddy takes nothing but an empty host, so that no web page gets there.
    const host = this.adminUrl.startsWith('unix:') ? { host: '' } : {};
    const headers = { ...host, 'content-type': 'application/json' };
    try {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await this.admin.request({ method, path, headers, ...sent });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new EdgeError(`Caddy answered ${answer.statusCode}: ${truncate(text, 500)}`);
      return text === '' ? null : (JSON.parse(text) as unknown);
    } catch (error) {
      throw error instanceof EdgeError ? error : new EdgeError("Caddy's admin API does not answer", { cause: error });
    }
  }
}

function certificateOf(socket: TLSSocket): SeenCertificate | null {
  const { issuer, valid_to: validTo } = socket.getPeerCertificate();
  const notAfter = new Date(validTo);
  if (issuer === undefined || Number.isNaN(+notAfter) || +notAfter <= Date.now()) return null;
  const name = [issuer.O, issuer.CN].flat().filter(Boolean).join(', ');
  return { issuer: truncate(name, 255), notAfter };
}

function parse(line: string): Record<string, unknown> {
  try {
    return (JSON.parse(line) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** What the certificate authority said, without the addresses of its own records. */
function plain(error: string): string {
  const told = error.replace(/\(order=[^)]*\)|https?:\/\/\S+/g, '').replace(/[^\x20-\x7e]+/g, ' ');
  return told.replace(/\s+/g, ' ').trim().slice(0, MAX_REASON);
}
