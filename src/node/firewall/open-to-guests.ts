import { isIPv4 } from 'node:net';

/**
 * Addresses that lead to nobody on the internet, but to what stands beside this host: RFC 1918, 2544, 3927, 6598, 6890,
 * loopback, and the one at which Azure tells a host about itself.
 */
const PRIVATE_RANGES = [
  ...['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.168.0.0/16', '198.18.0.0/15'],
];
export const PRIVATE = `{ ${PRIVATE_RANGES.join(', ')} }`;

export interface PublicPorts {
  /** This host's addresses that everybody may reach, and the ports there that are meant for everybody. */
  publicAddresses: readonly string[];
  publicPorts: readonly number[];
  portRange: { first: number; last: number };
}

export interface Bridge {
  network: string;
  /** Address of the bridge, where those on it resolve names. */
  gateway: string;
}

/** What of this host is open to those on a bridge of its own: names, and what everybody reaches. */
export function openToGuests({ gateway }: Bridge, ports: PublicPorts): string[] {
  return [
    'ct state established,related accept',
    `ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 accept`,
    `ip daddr ${gateway} icmp type echo-request accept`,
    ...openToEverybody(ports),
  ];
}

/** What everybody reaches, on this host or, of one platform, on another. */
export function openToEverybody({ publicAddresses, publicPorts, portRange }: PublicPorts): string[] {
  const range = `${portRange.first}-${portRange.last}`;
  const open = publicAddresses.filter((address) => isIPv4(address) && !address.startsWith('127.'));
  // A set with an entry twice, or inside of another, is refused as a whole.
  const single = publicPorts.filter((port) => port > 0 && (port < portRange.first || port > portRange.last));
  const ports = [...new Set(single), range].join(', ');
  return [
    ...open.map((address) => `ip daddr ${address} tcp dport { ${ports} } accept`),
    ...open.map((address) => `ip daddr ${address} udp dport ${range} accept`),
  ];
}
