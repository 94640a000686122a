import { openToEverybody, openToGuests, PRIVATE, type Bridge, type PublicPorts } from './open-to-guests.js';

export interface Surroundings extends Bridge, PublicPorts {
  brokerPort: number;
}

/** Where services reach a host of databases. */
export interface DatabasePlace {
  ip: string;
  port: number;
}

/**
 * Set and chains by which services reach the internet, what everybody reaches, the secrets broker and the databases, and
 * nothing else: neither this host's own listeners nor what stands on private addresses around it. They refuse by a chain
 * `refuse`; `input` is to send there what comes to this host.
 */
export function serviceRules(around: Surroundings, databases: readonly DatabasePlace[]): string[] {
  const places = [...new Set(databases.map(({ ip, port }) => `${ip} . ${port}`))];
  return [
    '  set databases4 {',
    '    type ipv4_addr . inet_service',
    ...(places.length > 0 ? [`    elements = { ${places.join(', ')} }`] : []),
    '  }',
    '  chain services {',
    ...openToGuests(around, around).map((rule) => `    ${rule}`),
    `    ip daddr ${around.gateway} tcp dport ${around.brokerPort} accept`,
    '    ip daddr . tcp dport @databases4 accept',
    '    goto refuse',
    '  }',
    '  chain forward {',
    '    type filter hook forward priority -10; policy accept;',
    `    iifname != "${around.network}" accept`,
    '    ct state established,related accept',
    '    ip daddr . tcp dport @databases4 accept',
    ...openToEverybody(around).map((rule) => `    ${rule}`),
    `    ip daddr ${PRIVATE} goto refuse`,
    '  }',
  ];
}
