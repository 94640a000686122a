import type { FirewallRule } from '../../platform/internal-api/internal-api.contract.js';
import { ruleset } from './ruleset.js';

const rule = (changes: Partial<FirewallRule>): FirewallRule => ({
  ip: '192.0.2.1',
  port: 20_001,
  protocol: 'tcp',
  active: true,
  rateLimit: 0,
  ...changes,
});

describe('the firewall as nftables reads it', () => {
  test('replaces its own table as a whole and names no other', () => {
    const text = ruleset('berth_one', [rule({ active: false })]);
    expect(text.split('\n').slice(0, 3)).toEqual([
      'table inet berth_one',
      'delete table inet berth_one',
      'table inet berth_one {',
    ]);
    expect(text.match(/\btable\b/g)).toHaveLength(3);
  });

  test('has nothing to say of an open port without a rate', () => {
    expect(ruleset('berth', [rule({})])).toBe(ruleset('berth', []));
  });

  test('closes a port for its address and protocol only', () => {
    const text = ruleset('berth', [rule({ active: false }), rule({ protocol: 'udp', port: 20_002, active: false })]);
    expect(text).toContain('elements = { 192.0.2.1 . tcp . 20001, 192.0.2.1 . udp . 20002 }');
  });

  test('counts new connections by source and port', () => {
    expect(ruleset('berth', [rule({ rateLimit: 7 })])).toContain(
      'ip daddr 192.0.2.1 tcp dport 20001 ct state new update @rates4 ' +
        '{ ip saddr . ip daddr . meta l4proto . th dport limit rate over 7/second burst 7 packets } goto refuse',
    );
  });

  test('a closed port needs no rate', () => {
    expect(ruleset('berth', [rule({ active: false, rateLimit: 7 })])).not.toContain('limit rate');
  });

  test('keeps addresses of both families apart', () => {
    const text = ruleset('berth', [
      rule({ ip: '2001:db8::1', active: false }),
      rule({ ip: '2001:db8::1', port: 20_002, rateLimit: 1 }),
    ]);
    expect(text).toMatch(/set closed6 \{\n.*\n {4}elements = \{ 2001:db8::1 \. tcp \. 20001 \}/);
    expect(text).toContain('ip6 daddr 2001:db8::1 tcp dport 20002 ct state new update @rates6');
  });
});
