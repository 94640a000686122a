import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import pLimit from 'p-limit';
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
import { StartBudget } from './start-budget.js';

const INTERVAL_MS = 1000;
const BATCH = 500;
const AT_ONCE = 4;
/** A slot that nobody looked at for this long has been missed. */
const GRACE_MS = 60_000;
/** Of one account. What is over it waits: it would only keep the slots of others, and fill the history with its own. */
const STARTS_PER_MINUTE = 120;

/** In turns by account, so that one with thousands of schedules keeps nobody waiting. */
const DUE = `
  SELECT due.id, due.serverId
    FROM (SELECT c.id, c.server_id AS serverId, c.next_run_at AS slot,
                 ROW_NUMBER() OVER (PARTITION BY s.account_id ORDER BY c.next_run_at, c.id) AS turn
            FROM schedules c JOIN servers s ON s.id = c.server_id
           WHERE c.next_run_at <= ? AND s.account_id NOT IN (?)) due
   ORDER BY due.turn, due.slot, due.id LIMIT ${BATCH}`;
const NOBODY = '';

/**
 * Starts schedules when they are due. Every worker looks; the row of the slot makes sure that one of them runs it. Slots
 * that passed while no worker was there are skipped, and the first of them is written down; those that only had to wait for
 * their turn are run late.
 */
@Injectable()
export class ScheduleClockWorker implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private ticking: Promise<void> = Promise.resolve();
  private stopped = false;
  private readonly starts = new StartBudget(STARTS_PER_MINUTE);
  private lookedAt = 0;
  /** Since when looks have followed each other. */
  private watchingSince = 0;

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

  private wind(afterMs = INTERVAL_MS): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.ticking = this.tickQuietly().then((isMore) => this.wind(isMore ? 0 : INTERVAL_MS));
    }, afterMs);
  }

  private async tickQuietly(): Promise<boolean> {
    try {
      return await this.tick();
    } catch (error) {
      this.log.warn({ err: error }, 'look for due schedules failed; the next one follows');
      return false;
    }
  }

  /** One look at what is due. Whether there may be more of it. */
  async tick(): Promise<boolean> {
    const due = await this.look();
    const limit = pLimit(AT_ONCE);
    await limit.map(due, async ({ id, serverId }) => {
      if (this.stopped) return;
      try {
        await this.take(serverId, id);
      } catch (error) {
        this.log.error({ err: error, scheduleId: id }, 'schedule not started; another try follows');
      }
    });
    return due.length === BATCH;
  }

  private async look(): Promise<{ id: string; serverId: string }[]> {
    const now = Date.now();
    const due = await this.database.manager.query<{ id: string; serverId: string }[]>(DUE, [
      new Date(now),
      [NOBODY, ...this.starts.spent()],
    ]);
    if (now > this.lookedAt + GRACE_MS) this.watchingSince = now;
    this.lookedAt = now;
    return due;
  }

  private async take(serverId: string, id: string): Promise<void> {
    const server = await this.servers.find(serverId);
    if (!server || !this.starts.take(server.accountId)) return;
    const account = await this.accounts.find(server.accountId);
    await this.database.transaction(async (tx) => {
      const schedule = await tx.manager.findOne(Schedule, { where: { id }, lock: { mode: 'pessimistic_write' } });
      const slot = schedule?.nextRunAt;
      const now = Date.now();
      // Another worker was quicker, or the schedule was changed meanwhile.
      if (!schedule || !slot || slot.getTime() > now) return;
      const missed = slot.getTime() < this.watchingSince - GRACE_MS;
      const times = new CronTimes(cronFieldsOf(schedule), schedule.timezone);
      const nextRunAt = times.next(new Date(Math.max(slot.getTime(), now - GRACE_MS)));
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
