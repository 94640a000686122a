import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LessThanOrEqual } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { AccountsService } from '../../accounts/accounts.service.js';
import type { Server } from '../server.entity.js';
import { ServerRepository } from '../server.repository.js';
import { CronTimes } from './cron-times.js';
import { ScheduleRun } from './schedule-run.entity.js';
import { cronFieldsOf } from './schedule-rules.js';
import { ScheduleRunsService, type SkipReason } from './schedule-runs.service.js';
import { Schedule } from './schedule.entity.js';

const INTERVAL_MS = 1000;
const BATCH = 100;
/** A slot that nobody took for this long has been missed. */
const GRACE_MS = 60_000;

/**
 * Starts schedules when they are due. Every worker looks; the row of the slot makes sure that one of them runs it. Slots
 * that passed while no worker was there are skipped, and the first of them is written down.
 */
@Injectable()
export class ScheduleClockWorker implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private ticking: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly accounts: AccountsService,
    private readonly runs: ScheduleRunsService,
    private readonly operations: OperationsService,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    this.wind();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.ticking;
  }

  private wind(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.ticking = this.tickQuietly().finally(() => this.wind());
    }, INTERVAL_MS);
  }

  private async tickQuietly(): Promise<void> {
    try {
      await this.tick();
    } catch (error) {
      this.log.warn({ err: error }, 'look for due schedules failed; the next one follows');
    }
  }

  /** One look at what is due. */
  async tick(): Promise<void> {
    const due = await this.database.manager.find(Schedule, {
      select: { id: true, serverId: true },
      where: { nextRunAt: LessThanOrEqual(new Date()) },
      order: { nextRunAt: 'ASC' },
      take: BATCH,
    });
    for (const { id, serverId } of due) {
      try {
        await this.take(serverId, id);
      } catch (error) {
        this.log.error({ err: error, scheduleId: id }, 'schedule not started; another try follows');
      }
    }
  }

  private async take(serverId: string, id: string): Promise<void> {
    const server = await this.servers.find(serverId);
    if (!server) return;
    const account = await this.accounts.find(server.accountId);
    await this.database.transaction(async (tx) => {
      const schedule = await tx.manager.findOne(Schedule, { where: { id }, lock: { mode: 'pessimistic_write' } });
      const slot = schedule?.nextRunAt;
      const now = Date.now();
      // Another worker was quicker, or the schedule was changed meanwhile.
      if (!schedule || !slot || slot.getTime() > now) return;
      const missed = slot.getTime() < now - GRACE_MS;
      const times = new CronTimes(cronFieldsOf(schedule), schedule.timezone);
      const nextRunAt = times.next(missed ? new Date(now - GRACE_MS) : slot);
      await tx.manager.update(Schedule, { id }, { nextRunAt });
      if (await tx.manager.existsBy(ScheduleRun, { scheduleId: id, slot })) return;
      const suspended = account.status !== 'active' ? 'suspended' : null;
      const reason = missed ? 'missed' : (suspended ?? (await this.obstacle(tx, schedule, server)));
      if (reason) await this.runs.skip(tx, schedule, slot, reason);
      else await this.runs.begin(tx, schedule, server, slot);
    });
  }

  private async obstacle(tx: Tx, schedule: Schedule, server: Server): Promise<SkipReason | null> {
    if (await this.operations.active(tx, schedule.id)) return 'overlap';
    return this.runs.obstacle(schedule, server);
  }
}
