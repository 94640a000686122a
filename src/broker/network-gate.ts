import type { FixedRules } from '../node/firewall/kept-table.js';

export interface GatedAddress {
  network: string;
  gateway: string;
  port: number;
}

/**
 * Rules that keep everything but the app network's bridge away from the broker's address: a host answers on any of its
 * addresses whichever interface a packet comes in by. Answers die with the first router, so that no program can pass them on.
 * Without them, who it does not know is refused by the broker alone.
 */
export function brokerRules(table: string, { network, gateway, port }: GatedAddress): FixedRules {
  const own = `${table}_broker`;
  const text = [
    `table inet ${own}`,
    `delete table inet ${own}`,
    `table inet ${own} {`,
    '  chain input {',
    '    type filter hook input priority -10; policy accept;',
    `    ip daddr ${gateway} tcp dport ${port} iifname != "${network}" reject with tcp reset`,
    '  }',
    '  chain output {',
    '    type filter hook output priority mangle; policy accept;',
    `    ip saddr ${gateway} tcp sport ${port} ip ttl set 1`,
    '  }',
    '}',
    '',
  ].join('\n');
  return { table: own, text, purpose: 'the broker answers services only' };
}
