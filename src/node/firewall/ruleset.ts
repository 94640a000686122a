import { isIPv6 } from 'node:net';
import type { FirewallRule } from '../../platform/internal-api/internal-api.contract.js';
import { serviceRules, type DatabasePlace, type Surroundings } from './service-rules.js';

/** How long an address that is over its rate, or near it, is remembered after its last try. */
const FORGET = '60s';
const REMEMBERED = 65_535;

export interface NodeRules {
  ports: readonly FirewallRule[];
  databases: readonly DatabasePlace[];
}

/**
 * The whole table as nftables reads it: what was there before is gone and this is there instead, in one transaction of the
 * kernel's. No other table is touched. Ports that are open and without a rate need no rule.
 */
export function ruleset(table: string, around: Surroundings, { ports: rules, databases }: NodeRules): string {
  const closed = { ip: elements(rules, false), ip6: elements(rules, true) };
  const limited = rules.filter(({ active, rateLimit }) => active && rateLimit > 0);
  return [
    `table inet ${table}`,
    `delete table inet ${table}`,
    `table inet ${table} {`,
    ...set('closed4', 'ipv4_addr . inet_proto . inet_service', closed.ip),
    ...set('closed6', 'ipv6_addr . inet_proto . inet_service', closed.ip6),
    ...rates('rates4', 'ipv4_addr'),
    ...rates('rates6', 'ipv6_addr'),
    '  chain input {',
    '    type filter hook input priority -10; policy accept;',
    '    ct direction reply accept',
    '    ip daddr . meta l4proto . th dport @closed4 goto refuse',
    '    ip6 daddr . meta l4proto . th dport @closed6 goto refuse',
    ...limited.map((rule) => `    ${limit(rule)}`),
    `    iifname "${around.network}" goto services`,
    '  }',
    ...serviceRules(around, databases),
    '  chain refuse {',
    '    meta l4proto tcp reject with tcp reset',
    '    reject with icmpx port-unreachable',
    '  }',
    '}',
    '',
  ].join('\n');
}

function elements(rules: readonly FirewallRule[], v6: boolean): string[] {
  return rules
    .filter(({ active, ip }) => !active && isIPv6(ip) === v6)
    .map(({ ip, protocol, port }) => `${ip} . ${protocol} . ${port}`);
}

function set(name: string, type: string, members: string[]): string[] {
  const content = members.length > 0 ? [`    elements = { ${members.join(', ')} }`] : [];
  return [`  set ${name} {`, `    type ${type}`, ...content, '  }'];
}

function rates(name: string, address: string): string[] {
  return [
    `  set ${name} {`,
    `    type ${address} . ${address} . inet_proto . inet_service`,
    `    size ${REMEMBERED}`,
    `    flags dynamic,timeout`,
    `    timeout ${FORGET}`,
    '  }',
  ];
}

/** New connections over the rate of one address to one port are refused; each pair has a bucket of its own. */
function limit({ ip, protocol, port, rateLimit }: FirewallRule): string {
  const [family, name] = isIPv6(ip) ? ['ip6', 'rates6'] : ['ip', 'rates4'];
  return [
    `${family} daddr ${ip} ${protocol} dport ${port} ct state new`,
    `update @${name} { ${family} saddr . ${family} daddr . meta l4proto . th dport`,
    `limit rate over ${rateLimit}/second burst ${rateLimit} packets } goto refuse`,
  ].join(' ');
}
