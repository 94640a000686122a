import type { FixedRules } from './kept-table.js';
import { openToGuests, PRIVATE, type Bridge, type PublicPorts } from './open-to-guests.js';

/** Where clouds tell a host its own credentials. */
const LINK_LOCAL = '169.254.0.0/16';

export interface MachineRules extends Bridge, PublicPorts {
  appNetwork: string;
}

/**
 * Rules by which machines reach the internet and what everybody reaches, and nothing else: neither this host's own listeners
 * nor services, nor one another by way of this host, nor what stands on private addresses around it. What answers a visitor
 * goes out; to the private networks of this host nothing else does. Services are kept from link-local addresses.
 */
export function machineRules(table: string, rules: MachineRules): FixedRules {
  const { network, gateway, appNetwork } = rules;
  const own = `${table}_machines`;
  const text = [
    `table inet ${own}`,
    `delete table inet ${own}`,
    `table inet ${own} {`,
    '  chain input {',
    '    type filter hook input priority -10; policy accept;',
    // A host answers on any of its addresses, whichever interface a packet comes in by.
    `    ip daddr ${gateway} iifname != { "lo", "${network}" } drop`,
    `    iifname != "${network}" accept`,
    '    udp dport 67 accept',
    ...openToGuests(rules, rules).map((rule) => `    ${rule}`),
    '    meta l4proto tcp reject with tcp reset',
    '    reject with icmpx admin-prohibited',
    '  }',
    '  chain forward {',
    '    type filter hook forward priority -10; policy accept;',
    `    iifname != "${network}" oifname != "${network}" accept`,
    '    ct state established,related accept',
    `    iifname "${network}" oifname { "${network}", "${appNetwork}" } drop`,
    `    iifname "${appNetwork}" oifname "${network}" drop`,
    `    iifname "${network}" ip daddr ${PRIVATE} reject with icmpx admin-prohibited`,
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
