import { machineRules } from './machine-rules.js';

const RULES = {
  network: 'berth0m',
  gateway: '10.58.0.1',
  appNetwork: 'berth0',
  publicAddresses: ['127.0.0.1'],
  publicPorts: [80, 443],
  portRange: { first: 20_000, last: 29_999 },
};

describe('the rules around machines as nftables reads them', () => {
  test('replace their own table as a whole and name no other', () => {
    const { table, text } = machineRules('berth_one', RULES);
    expect(table).toBe('berth_one_machines');
    expect(text.split('\n').slice(0, 3)).toEqual([
      'table inet berth_one_machines',
      'delete table inet berth_one_machines',
      'table inet berth_one_machines {',
    ]);
  });

  test('open nothing of this host where nobody else reaches it either', () => {
    for (const publicAddresses of [['127.0.0.1'], ['127.0.3.80'], ['::1'], []]) {
      expect(machineRules('x', { ...RULES, publicAddresses }).text).not.toContain('dport {');
    }
  });

  test('keep services as well as machines from what a cloud tells its hosts', () => {
    const { text } = machineRules('x', RULES);
    expect(text).toContain('iifname "berth0" ip daddr 169.254.0.0/16 reject');
    expect(text).toMatch(/iifname "berth0m" ip daddr \{[^}]*169\.254\.0\.0\/16/);
  });

  test('open what is meant for everybody, on the public addresses only', () => {
    const { text } = machineRules('x', { ...RULES, publicAddresses: ['203.0.113.9', '127.0.0.1'] });
    expect(text).toContain('ip daddr 203.0.113.9 tcp dport { 80, 443, 20000-29999 } accept');
    expect(text.match(/dport \{/g)).toHaveLength(1);
  });

  test('name no port twice, as nftables would refuse the whole table', () => {
    const publicPorts = [80, 0, 443, 80, 20_000, 25_000, 29_999];
    const { text } = machineRules('x', { ...RULES, publicPorts, publicAddresses: ['203.0.113.9'] });
    expect(text).toContain('tcp dport { 80, 443, 20000-29999 } accept');
  });
});
