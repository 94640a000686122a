import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { DatabaseAddress, FirewallRule } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { DatabasePlaces } from './database-places.js';
import { applyRuleset, tableExists } from './nftables.js';
import { ruleset } from './ruleset.js';
import type { Surroundings } from './service-rules.js';

const ASK_EVERY_MS = 2000;
/** Somebody who reloads their own rules may have removed ours, and a name may lead elsewhere. */
const LOOK_EVERY_MS = 20_000;

interface Rules {
  ports: FirewallRule[];
  databases: DatabaseAddress[];
}

/**
 * Keeps the node's packet filter as the control plane wants it. The rules stay when this process ends, as the services run
 * on; the next one replaces them as a whole. Where there are none yet, services are kept to the internet until it answers.
 */
export class Firewall {
  private timer: NodeJS.Timeout | undefined;
  private round: Promise<void> = Promise.resolve();
  private stopped = false;
  private failing = false;
  private version: string | null = null;
  private rules: Rules = { ports: [], databases: [] };
  private laid = '';
  private lookedAt = 0;
  private readonly places = new DatabasePlaces();

  constructor(
    private readonly table: string,
    private readonly around: Surroundings,
    private readonly api: InternalApiClient,
    private readonly log: AppLogger,
  ) {}

  start(): void {
    this.again(0);
  }

  /** Whether there are rules in the packet filter, be they those of a moment ago. */
  get stands(): boolean {
    return this.version !== null;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.round;
  }

  private again(afterMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.round = this.keep().finally(() => this.again(ASK_EVERY_MS));
    }, afterMs);
  }

  private async keep(): Promise<void> {
    try {
      if (this.laid === '' && !(await tableExists(this.table))) await this.lay(await this.textOf(this.rules));
      const { version, rules, databases } = await this.api.firewall(this.version);
      if (rules !== null) await this.apply(version, { ports: rules, databases: databases ?? [] });
      else await this.look();
      if (this.failing) this.log.info('the firewall is kept up to date again');
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.log.warn({ err: error }, 'the firewall is not up to date; trying again');
      this.failing = true;
    }
  }

  private async apply(version: string, rules: Rules): Promise<void> {
    await this.lay(await this.textOf(rules));
    this.version = version;
    this.rules = rules;
    this.lookedAt = Date.now();
  }

  private async look(): Promise<void> {
    if (Date.now() - this.lookedAt < LOOK_EVERY_MS && !this.places.incomplete) return;
    this.lookedAt = Date.now();
    const text = await this.textOf(this.rules);
    const gone = !(await tableExists(this.table));
    if (gone)
      this.log.warn({ table: this.table }, 'somebody removed the firewall rules of services; they are put back');
    if (gone || text !== this.laid) await this.lay(text);
  }

  private async textOf({ ports, databases }: Rules): Promise<string> {
    return ruleset(this.table, this.around, { ports, databases: await this.places.of(databases) });
  }

  private async lay(text: string): Promise<void> {
    await applyRuleset(text);
    this.laid = text;
  }
}
