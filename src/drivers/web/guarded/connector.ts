import { isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { WebError, type Edge } from '../web.js';
import type { AddressGuard } from './address-rules.js';

/** All addresses of a name; none when there is no such name. */
export type Resolve = (name: string) => Promise<string[]>;

/** Makes a connection to where it is told, and asks nobody. */
export type Dial = buildConnector.connector;

const PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 };

/**
 * The one place where connections to the web are made. Whatever a request names, by number or by name, is looked up here, all
 * that comes of it has to be allowed, and the connection goes to the very address that was looked at: there is no second look-up
 * that could answer otherwise.
 */
export class GuardedConnector {
  constructor(
    private readonly guard: AddressGuard,
    private readonly resolve: Resolve,
    private readonly dial: Dial,
    /** With what is connected to each: its certificates may be believed where others' are not. */
    private readonly edges: readonly (Edge & { dial: Dial })[] = [],
  ) {}

  /** As undici asks for it. */
  readonly connect: buildConnector.connector = (options, callback) => {
    void this.open(options).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error as Error, null),
    );
  };

  private async open(options: buildConnector.Options): Promise<Socket | TLSSocket> {
    const { protocol } = options;
    const host = unbracketed(options.hostname);
    const port = Number(options.port) || PORTS[protocol]!;
    const edge = this.edges.find((known) => known.host === host);
    if (edge) {
      const own = protocol === 'https:' ? edge.httpsPort : edge.httpPort;
      return this.reach(options, edge.address, own, host, edge.dial);
    }
    const addresses = await this.allowed(host, port, protocol);
    let failure: unknown;
    for (const address of addresses) {
      try {
        return await this.reach(options, address, port, host);
      } catch (error) {
        if (error instanceof WebError) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** The addresses of a host, if every one of them may be reached. */
  private async allowed(host: string, port: number, protocol: string): Promise<string[]> {
    const usual = port === PORTS[protocol];
    if (!usual && !this.guard.namesAny) throw new WebError('port_refused');
    const addresses = isIP(host) > 0 ? [host] : await this.lookUp(host);
    if (addresses.length === 0) throw new WebError('dns_failed');
    if (!addresses.every((address) => this.guard.allows(address))) throw new WebError('address_refused');
    if (!usual && !addresses.every((address) => this.guard.isNamed(address))) throw new WebError('port_refused');
    return addresses;
  }

  private async lookUp(host: string): Promise<string[]> {
    // Loopback by definition (RFC 6761), whatever name servers say.
    if (/(^|\.)localhost\.?$/.test(host)) return ['127.0.0.1'];
    try {
      return await this.resolve(host);
    } catch (cause) {
      throw new WebError('dns_failed', cause);
    }
  }

  private async reach(
    options: buildConnector.Options,
    address: string,
    port: number,
    host: string,
    dial = this.dial,
  ): Promise<Socket> {
    const named = options.protocol === 'https:' && isIP(host) === 0 ? { servername: host } : { servername: undefined };
    const target = { ...options, ...named, hostname: address, host: address, port: String(port) };
    const socket = await new Promise<Socket>((resolve, reject) =>
      dial(target, (error, made) => (error ? reject(error) : resolve(made))),
    );
    const { remoteAddress } = socket;
    if (remoteAddress !== undefined && sameAddress(remoteAddress, address)) return socket;
    socket.destroy();
    throw new WebError('address_refused');
  }
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function sameAddress(one: string, other: string): boolean {
  if (isIP(one) !== isIP(other)) return false;
  return isIP(one) === 4 ? one === other : new URL(`http://[${one}]`).host === new URL(`http://[${other}]`).host;
}
