import { applyRuleset, mayFilter, tableExists } from '../node/firewall/nftables.js';
import type { AppLogger } from '../platform/observability/logger.js';

const LOOK_EVERY_MS = 20_000;

export interface GatedAddress {
  network: string;
  gateway: string;
  port: number;
}

/**
 * Rules that keep everything but the app network's bridge away from the broker's address: a host answers on any of its
 * addresses whichever interface a packet comes in by. Answers die with the first router, so that no program can pass them on.
 */
export function brokerRuleset(table: string, { network, gateway, port }: GatedAddress): string {
  return [
    `table inet ${table}`,
    `delete table inet ${table}`,
    `table inet ${table} {`,
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
}

/** Keeps these rules in the packet filter. They stay when this process ends: nothing else is meant to listen there. */
export class NetworkGate {
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private failing = false;

  constructor(
    private readonly table: string,
    private readonly address: GatedAddress,
    private readonly log: AppLogger,
  ) {}

  /** Null where there is none, for a reason that is said once: strangers are then refused by their address only. */
  static for(firewall: 'on' | 'off', table: string, address: GatedAddress, log: AppLogger): NetworkGate | null {
    const why = firewall === 'off' ? 'FIREWALL is off' : mayFilter() ? null : 'this process lacks CAP_NET_ADMIN';
    if (why === null) return new NetworkGate(`${table}_broker`, address, log);
    log.info({ why }, 'no packet filter before the broker: who it does not know is refused by the broker alone');
    return null;
  }

  async start(): Promise<void> {
    await this.keep(true);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async keep(first: boolean): Promise<void> {
    try {
      if (first || this.failing || !(await tableExists(this.table))) {
        await applyRuleset(brokerRuleset(this.table, this.address));
        if (!first) this.log.warn({ table: this.table }, 'the rules before the broker were gone; they are put back');
      }
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.log.error({ err: error }, 'no packet filter before the broker; trying again');
      this.failing = true;
    }
    if (!this.stopped) this.timer = setTimeout(() => void this.keep(false), LOOK_EVERY_MS);
  }
}
