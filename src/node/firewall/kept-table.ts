import type { AppLogger } from '../../platform/observability/logger.js';
import { applyRuleset, mayFilter, tableExists } from './nftables.js';

const LOOK_EVERY_MS = 20_000;

/** Rules that never change and have to be in the packet filter always: put there at start, and back when they are gone. */
export interface FixedRules {
  /** Name of the table, which is this one's alone and has a chain `input`. */
  table: string;
  /** The whole table as nftables reads it. */
  text: string;
  /** What they are for, in words for the log. */
  purpose: string;
}

/** Keeps such rules. They stay when this process ends: what they keep apart is not meant to meet then either. */
export class KeptTable {
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private failing = false;
  private laid = false;

  private constructor(
    private readonly rules: FixedRules,
    private readonly log: AppLogger,
  ) {}

  /** Null where there is none, for a reason that is said once. */
  static for(firewall: 'on' | 'off', rules: FixedRules, log: AppLogger): KeptTable | null {
    const why = firewall === 'off' ? 'FIREWALL is off' : mayFilter() ? null : 'this process lacks CAP_NET_ADMIN';
    if (why === null) return new KeptTable(rules, log);
    log.info({ why, purpose: rules.purpose }, 'no packet filter');
    return null;
  }

  async start(): Promise<void> {
    await this.keep(true);
  }

  /** Whether the rules are in the packet filter. */
  get stands(): boolean {
    return this.laid && !this.failing;
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async keep(first: boolean): Promise<void> {
    const { table, text, purpose } = this.rules;
    try {
      if (first || this.failing || !(await tableExists(table))) {
        await applyRuleset(text);
        if (!first) this.log.warn({ table, purpose }, 'rules of the packet filter were gone; they are put back');
      }
      this.failing = false;
      this.laid = true;
    } catch (error) {
      if (!this.failing) this.log.error({ err: error, purpose }, 'no packet filter; trying again');
      this.failing = true;
    }
    if (!this.stopped) this.timer = setTimeout(() => void this.keep(false), LOOK_EVERY_MS);
  }
}
