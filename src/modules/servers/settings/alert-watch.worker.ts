import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import { RecurringWorker } from '../../../platform/background/recurring-worker.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { NotificationsService } from '../../notifications/notifications.service.js';
import type { Server } from '../server.entity.js';
import { ServerRepository } from '../server.repository.js';
import { ServerUsageReader } from '../usage/server-usage.reader.js';
import { sharesOf, verdictOn, type Shares } from './alert-levels.js';
import { ServerAlert } from './server-alert.entity.js';

const INTERVAL_MS = 3000;
/** How often each service is looked at. */
const SAMPLE_MS = 15_000;
const BATCH = 200;
const AT_ONCE = 4;
/** So long after it was told, an alert is not told again for a threshold that was changed since. */
const QUIET_MS = 600_000;

const RESOURCES = {
  ram: { raised: 'ramRaised', name: 'memory' },
  cpu: { raised: 'cpuRaised', name: 'processor share' },
} as const;

/**
 * Watches the consumption of services whose accounts want to be told. Each look is claimed by one worker, and the state of
 * an alert moves by a conditional write together with its entry and message, so that a crossing is told once.
 */
@Injectable()
export class AlertWatchWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly reader: ServerUsageReader,
    private readonly events: EventRecorder,
    private readonly notifications: NotificationsService,
    log: AppLogger,
  ) {
    super({ what: 'look at consumption', everyMs: INTERVAL_MS }, log);
  }

  protected turn(): Promise<void> {
    return this.pass();
  }

  /** Looks at every service whose last look is long enough ago. */
  async pass(): Promise<void> {
    const due = await this.database.manager
      .createQueryBuilder(ServerAlert, 'alert')
      .where('alert.sampledAt <= :before', { before: new Date(Date.now() - SAMPLE_MS) })
      .andWhere('(alert.ram IS NOT NULL OR alert.cpu IS NOT NULL)')
      .orderBy('alert.sampledAt')
      .take(BATCH)
      .getMany();
    const one = async (): Promise<void> => {
      for (let alert = due.pop(); alert && !this.stopped; alert = due.pop()) await this.look(alert);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  }

  private async look(alert: ServerAlert): Promise<void> {
    const { serverId } = alert;
    const sampledAt = new Date();
    const claim = await this.database.manager.update(
      ServerAlert,
      { serverId, sampledAt: alert.sampledAt },
      { sampledAt },
    );
    if (claim.affected !== 1) return;
    try {
      const server = await this.servers.find(serverId);
      if (!server || server.status === 'DELETING') return;
      const shares = await this.read(server, alert);
      await this.database.transaction(async (tx) => {
        for (const resource of ['ram', 'cpu'] as const) await this.judge(tx, server, alert, resource, shares);
      });
    } catch (error) {
      this.log.warn({ err: error, serverId }, 'consumption of a service not read; the next look follows');
    }
  }

  private async read(server: Server, alert: ServerAlert): Promise<Shares> {
    const usage = await this.reader.instance(server.id);
    if (usage?.state !== 'running') return { ram: 0, cpu: 0 };
    const readAt = new Date();
    const shares = sharesOf(server, alert, usage, readAt);
    const { cpuNanoseconds, startedAt: programStartedAt } = usage;
    const reading = { cpuNanoseconds, cpuReadAt: readAt, programStartedAt };
    await this.database.manager.update(ServerAlert, { serverId: server.id }, reading);
    return shares;
  }

  private async judge(
    tx: Tx,
    server: Server,
    alert: ServerAlert,
    resource: 'ram' | 'cpu',
    shares: Shares,
  ): Promise<void> {
    const threshold = alert[resource];
    const percent = shares[resource];
    if (threshold === null || percent === null) return;
    const { raised: flag } = RESOURCES[resource];
    const verdict = verdictOn(threshold, alert[flag], percent);
    if (verdict === 'stays') return;
    const raised = verdict === 'raise';
    if (raised && (await this.isQuiet(tx, server, alert, resource))) return;
    // `updatedAt` tells thresholds that were changed meanwhile.
    const where = { serverId: server.id, [flag]: !raised, updatedAt: alert.updatedAt };
    const moved = await tx.manager.update(ServerAlert, where, { [flag]: raised });
    if (raised && moved.affected === 1) await this.tell(tx, server, resource, threshold, percent);
  }

  /** A crossing in that time is told when it is over, if consumption is still there. */
  private async isQuiet(
    tx: Tx,
    { id, accountId }: Server,
    { updatedAt }: ServerAlert,
    resource: 'ram' | 'cpu',
  ): Promise<boolean> {
    const quietSince = new Date(Date.now() - QUIET_MS);
    if (updatedAt < quietSince) return false;
    const told = { accountId, resourceId: id, kind: `alert.${resource}` };
    const toldAt = await this.notifications.toldAt(tx, told, quietSince);
    return toldAt !== null && toldAt < updatedAt;
  }

  private async tell(
    tx: Tx,
    { id, accountId, name }: Server,
    resource: 'ram' | 'cpu',
    threshold: number,
    percent: number,
  ): Promise<void> {
    const used = Math.round(percent * 10) / 10;
    const properties = { threshold, percent: used };
    await this.events.record(tx, {
      accountId,
      resourceId: id,
      event: `server:alert.${resource}`,
      properties,
      ...SYSTEM,
    });
    const what = RESOURCES[resource].name;
    const text = `Your service "${name}" (${id}) uses ${used} % of its ${what}; its alert is set to ${threshold} %.`;
    await this.notifications.notify(tx, { accountId, resourceId: id, kind: `alert.${resource}`, text });
  }
}
