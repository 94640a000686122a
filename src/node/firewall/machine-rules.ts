import { isIPv4 } from 'node:net';
import type { FixedRules } from './kept-table.js';

/** Addresses that lead to nobody on the internet, but to what stands beside this host: RFC 1918, 3927, 6598, loopback. */
const PRIVATE = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];

/** Where clouds tell a host its own credentials. */
const LINK_LOCAL = '169.254.0.0/16';

export interface MachineRules {
  network: string;
  /** Address of the bridge, where machines get their addresses and resolve names. */
  gateway: string;
  appNetwork: string;
  /** This host's addresses that everybody may reach, and the ports there that are meant for everybody. */
  publicAddresses: readonly string[];
  publicPorts: readonly number[];
  portRange: { first: number; last: number };
}

/**
 * Rules by which machines reach the internet and what everybody reaches, and nothing else: neither this host's own listeners
 * nor services, nor one another by way of this host, nor what stands on private addresses around it. What answers a visitor
 * goes out; to the private networks of this host nothing else does. Services are kept from link-local addresses.
 */
export function machineRules(table: string, rules: MachineRules): FixedRules {
  const { network, gateway, appNetwork, portRange } = rules;
  const own = `${table}_machines`;
  const open = rules.publicAddresses.filter((address) => isIPv4(address) && !address.startsWith('127.'));
  // A set with an entry twice, or inside of another, is refused as a whole.
  const single = rules.publicPorts.filter((port) => port > 0 && (port < portRange.first || port > portRange.last));
  const ports = [...new Set(single), `${portRange.first}-${portRange.last}`].join(', ');
  const text = [
    `table inet ${own}`,
    `delete table inet ${own}`,
    `table inet ${own} {`,
    '  chain input {',
    '    type filter hook input priority -10; policy accept;',
    // A host answers on any of its addresses, whichever interface a packet comes in by.
    `    ip daddr ${gateway} iifname != { "lo", "${network}" } drop`,
    `    iifname != "${network}" accept`,
    '    ct state established,related accept',
    '    udp dport 67 accept',
    `    ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 accept`,
    `    ip daddr ${gateway} icmp type echo-request accept`,
    ...open.map((address) => `    ip daddr ${address} tcp dport { ${ports} } accept`),
    ...open.map((address) => `    ip daddr ${address} udp dport ${portRange.first}-${portRange.last} accept`),
    '    meta l4proto tcp reject with tcp reset',
    '    reject with icmpx admin-prohibited',
    '  }',
    '  chain forward {',
    '    type filter hook forward priority -10; policy accept;',
    `    iifname != "${network}" oifname != "${network}" accept`,
    '    ct state established,related accept',
    `    iifname "${network}" oifname { "${network}", "${appNetwork}" } drop`,
    `    iifname "${appNetwork}" oifname "${network}" drop`,
    `    iifname "${network}" ip daddr { ${PRIVATE.join(', ')} } reject with icmpx admin-prohibited`,
    `    iifname "${appNetwork}" ip daddr ${LINK_LOCAL} reject with icmpx admin-prohibited`,
    '  }',
    '}',
    '',
  ].join('\n');
  return {
    table: own,
    text,
    purpose: 'machines reach nothing of the platform and no service, and neither reaches link-local addresses',
  };
}
