import type { FirewallRule } from '../../platform/internal-api/internal-api.contract.js';
import { ruleset } from './ruleset.js';
import type { DatabasePlace } from './service-rules.js';

const rule = (changes: Partial<FirewallRule>): FirewallRule => ({
  ip: '192.0.2.1',
  port: 20_001,
  protocol: 'tcp',
  active: true,
  rateLimit: 0,
  ...changes,
});

const AROUND = {
  network: 'berth0',
  gateway: '10.158.0.1',
  brokerPort: 7458,
  publicAddresses: ['203.0.113.9'],
  publicPorts: [443],
  portRange: { first: 20_000, last: 29_999 },
};

const textOf = (table: string, ports: FirewallRule[], databases: DatabasePlace[] = []): string =>
  ruleset(table, AROUND, { ports, databases });

describe('the firewall as nftables reads it', () => {
  test('replaces its own table as a whole and names no other', () => {
    const text = textOf('berth_one', [rule({ active: false })]);
    expect(text.split('\n').slice(0, 3)).toEqual([
      'table inet berth_one',
      'delete table inet berth_one',
      'table inet berth_one {',
    ]);
    expect(text.match(/\btable\b/g)).toHaveLength(3);
  });

  test('has nothing to say of an open port without a rate', () => {
    expect(textOf('berth', [rule({})])).toBe(textOf('berth', []));
  });

  test('closes a port for its address and protocol only', () => {
    const text = textOf('berth', [rule({ active: false }), rule({ protocol: 'udp', port: 20_002, active: false })]);
    expect(text).toContain('elements = { 192.0.2.1 . tcp . 20001, 192.0.2.1 . udp . 20002 }');
  });

  test('counts new connections by source and port', () => {
    expect(textOf('berth', [rule({ rateLimit: 7 })])).toContain(
      'ip daddr 192.0.2.1 tcp dport 20001 ct state new update @rates4 ' +
        '{ ip saddr . ip daddr . meta l4proto . th dport limit rate over 7/second burst 7 packets } goto refuse',
    );
  });

  test('a closed port needs no rate', () => {
    expect(textOf('berth', [rule({ active: false, rateLimit: 7 })])).not.toContain('limit rate');
  });

  test('keeps addresses of both families apart', () => {
    const text = textOf('berth', [
      rule({ ip: '2001:db8::1', active: false }),
      rule({ ip: '2001:db8::1', port: 20_002, rateLimit: 1 }),
    ]);
    expect(text).toMatch(/set closed6 \{\n.*\n {4}elements = \{ 2001:db8::1 \. tcp \. 20001 \}/);
    expect(text).toContain('ip6 daddr 2001:db8::1 tcp dport 20002 ct state new update @rates6');
  });

  test('keeps services to what everybody reaches, the broker and the databases', () => {
    const text = textOf(
      'berth',
      [],
      [
        { ip: '10.0.0.20', port: 3306 },
        { ip: '10.0.0.20', port: 3306 },
      ],
    );
    expect(text).toContain('type ipv4_addr . inet_service\n    elements = { 10.0.0.20 . 3306 }');
    expect(text).toContain('iifname "berth0" goto services');
    // Where clouds tell a host about itself.
    for (const range of ['168.63.129.16', '169.254.0.0/16', '192.0.0.0/24']) expect(text).toContain(`${range}, `);
    const [, services = ''] =
      /chain services \{\n([^}]*goto refuse)/s.exec(text.replaceAll(/\{ [^\n]* \}/g, '…')) ?? [];
    expect(services.trim().split(/\n */)).toEqual([
      'ct state established,related accept',
      'ip daddr 10.158.0.1 meta l4proto … th dport 53 accept',
      'ip daddr 10.158.0.1 icmp type echo-request accept',
      'ip daddr 203.0.113.9 tcp dport … accept',
      'ip daddr 203.0.113.9 udp dport 20000-29999 accept',
      'ip daddr 10.158.0.1 tcp dport 7458 accept',
      'ip daddr . tcp dport @databases4 accept',
      'goto refuse',
    ]);
  });
});
