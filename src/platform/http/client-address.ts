import { BlockList, isIP, isIPv4 } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { normalizeIp } from '@nestjs/throttler';
import { contextOf } from '../observability/request-context.js';

/** The address a request comes from: what limits, locks and logs go by. */
export function clientAddress(request: IncomingMessage): string {
  return contextOf(request)?.address ?? canonicalAddress(request.socket.remoteAddress ?? '') ?? '';
}

/**
 * What a client can hardly change about its address: all of an IPv4 address, the /64 network of an IPv6 one. Limits are
 * counted per bucket.
 */
export function addressBucket(address: string): string {
  return isIPv4(address) ? address : normalizeIp(address, 64);
}

/** One spelling per address: IPv4 without its mapping into IPv6, IPv6 compressed, no zone. Undefined for anything else. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (text.startsWith('::ffff:') && isIPv4(text.slice(7))) return text.slice(7);
  const address = text.split('%', 1)[0]!;
  return isIP(address) === 6 ? normalizeIp(address, 128).replace(/\/128$/, '') : undefined;
}

const MAPPED_BITS = 96;

/** The same for an entry that is an address or a range in CIDR notation. */
export function canonicalEntry(entry: string): string {
  const [text, bits] = entry.split('/') as [string, string | undefined];
  const address = canonicalAddress(text) ?? text;
  if (bits === undefined) return address;
  if (isIPv4(address) === isIPv4(text)) return `${address}/${bits}`;
  // A range that is wider than all of the mapped IPv4 addresses holds others besides.
  return Number(bits) < MAPPED_BITS ? entry : `${address}/${Number(bits) - MAPPED_BITS}`;
}

/** Addresses and ranges in CIDR notation, whatever spelling they come in. */
export class AddressSet {
  private readonly list = new BlockList();

  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const [address, bits] = canonicalEntry(entry).split('/') as [string, string | undefined];
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      if (bits === undefined) this.list.addAddress(address, family);
      else this.list.addSubnet(address, Number(bits), family);
    }
  }

  /** The address in its canonical spelling. */
  has(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.list.check(address, family === 4 ? 'ipv4' : 'ipv6');
  }
}

/**
 * Finds client addresses behind the proxies an operator trusts, given as addresses and ranges. A trusted proxy's word is
 * the right-most entry of `X-Forwarded-For` that is not a trusted proxy itself; entries left of it are the client's own.
 */
export class ClientAddresses {
  private readonly trusted: AddressSet;
  private readonly none: boolean;

  constructor(trustedProxies: readonly string[]) {
    this.none = trustedProxies.length === 0;
    this.trusted = new AddressSet(trustedProxies);
  }

  of(request: IncomingMessage): string {
    const peer = canonicalAddress(request.socket.remoteAddress ?? '') ?? '';
    if (this.none || !this.trusts(peer)) return peer;
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded === undefined) return peer;
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',');
    let client = peer;
    for (const hop of hops.reverse()) {
      const address = hopAddress(hop.trim());
      if (address === undefined) return peer;
      client = address;
      if (!this.trusts(address)) break;
    }
    return client;
  }

  trusts(address: string): boolean {
    return !this.none && this.trusted.has(address);
  }
}

/** An entry as proxies write it: bare, or with a port after IPv4 or after IPv6 in brackets. */
function hopAddress(hop: string): string | undefined {
  const bare = /^\[([0-9a-fA-F:.%]+)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^([0-9.]+):\d{1,5}$/.exec(hop)?.[1] ?? hop;
  return canonicalAddress(bare);
}
