import { createHash, randomBytes } from 'node:crypto';
import { BlockList, isIP } from 'node:net';

const PREFIX = 'svc_';

export interface FreshKey {
  /** The clear key; it exists here and in the answer to its creation only. */
  key: string;
  prefix: string;
  hashedKey: string;
}

export function freshKey(): FreshKey {
  const key = PREFIX + randomBytes(24).toString('hex');
  return { key, prefix: key.slice(0, PREFIX.length + 8), hashedKey: hashOf(key).toString('hex') };
}

export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Whether an address is one of, or lies in a range of, the list. */
export function isAllowed(address: string, allowed: readonly string[]): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  const type = family === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  for (const entry of allowed) {
    const [ip = '', prefix] = entry.split('/');
    if (isIP(ip) !== family) continue; // the list would take an IPv4 address for its mapped form, which ::/0 holds
    if (prefix === undefined) list.addAddress(ip, type);
    else list.addSubnet(ip, Number(prefix), type);
  }
  return list.check(address, type);
}

/** An IP address, or a range in CIDR notation. */
export function isAddressOrRange(text: string): boolean {
  const match = /^([0-9a-fA-F:.]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text);
  if (!match) return false;
  const family = isIP(match[1]!);
  return family !== 0 && Number(match[2] ?? 0) <= (family === 4 ? 32 : 128);
}
