import ipaddr from 'ipaddr.js';

/** Public by its number, and yet a cloud's own: Azure's host of virtual machines. */
const DENIED = ['168.63.129.16'];
/** What is given out of the public IPv6 space so far. */
const GLOBAL_V6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];
/** Parts of it that reach IPv4 addresses or nobody. */
const EMBEDDING_V6 = ['2001::/23', '2002::/16', '2001:db8::/32', '3fff::/20', '64:ff9b::/96', '64:ff9b:1::/48'].map(
  (range) => ipaddr.IPv6.parseCIDR(range),
);

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

export interface AddressRules {
  /** Addresses and ranges that may be reached though they are private or the platform's own, on any port. */
  allow: readonly string[];
  /** Addresses and ranges that may not be reached though they are public: the platform's own. */
  deny: readonly string[];
}

/** Which addresses requests of other people may go to: public ones, unless they are named. */
export class AddressGuard {
  private readonly allowed: Range[];
  private readonly denied: Range[];

  constructor({ allow, deny }: AddressRules) {
    this.allowed = allow.map(rangeOf);
    this.denied = [...DENIED, ...deny].map(rangeOf);
  }

  /** Whether any address is named, which may then be asked on any port. */
  get namesAny(): boolean {
    return this.allowed.length > 0;
  }

  isNamed(address: string): boolean {
    const parsed = parse(address);
    return parsed !== undefined && this.allowed.some((range) => within(parsed, range));
  }

  allows(address: string): boolean {
    const parsed = parse(address);
    if (!parsed) return false;
    if (this.allowed.some((range) => within(parsed, range))) return true;
    if (this.denied.some((range) => within(parsed, range))) return false;
    return isPublic(parsed);
  }
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return true;
  return within(address, GLOBAL_V6) && !EMBEDDING_V6.some((range) => within(address, range));
}

/** An address with the zone of a link is nobody's but this machine's. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(address) && !address.includes('%') ? ipaddr.parse(address) : undefined;
}

function within(address: ipaddr.IPv4 | ipaddr.IPv6, [base, bits]: Range): boolean {
  return address.kind() === base.kind() && address.match([base, bits] as [ipaddr.IPv4, number]);
}

function rangeOf(text: string): Range {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
