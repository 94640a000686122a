import { Injectable } from '@nestjs/common';
import { In, LessThan } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { ScheduleRun, ScheduleRunTask } from './schedule-run.entity.js';
import { ScheduleTask } from './schedule-task.entity.js';
import { Schedule } from './schedule.entity.js';

/** Look-ups of schedules, their tasks and runs. Whether the service is the caller's has been asked before. */
@Injectable()
export class ScheduleRepository {
  constructor(private readonly database: Database) {}

  async list(serverId: string, limit: number, before?: string): Promise<Schedule[]> {
    return this.database.manager.find(Schedule, {
      where: { serverId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  async find(serverId: string, id: string): Promise<Schedule> {
    const schedule = await this.database.manager.findOneBy(Schedule, { id, serverId });
    if (!schedule) throw notFound();
    return schedule;
  }

  /** Holds the row until the transaction ends: whoever changes, runs or claims a schedule does so first. */
  async lock(tx: Tx, serverId: string, id: string): Promise<Schedule> {
    const lock = { mode: 'pessimistic_write' } as const;
    const schedule = await tx.manager.findOne(Schedule, { where: { id, serverId }, lock });
    if (!schedule) throw notFound();
    return schedule;
  }

  /** Tasks of these schedules in their order. */
  async tasks({ manager }: Pick<Tx, 'manager'>, scheduleIds: string[]): Promise<ScheduleTask[]> {
    if (scheduleIds.length === 0) return [];
    return manager.find(ScheduleTask, { where: { scheduleId: In(scheduleIds) }, order: { sequence: 'ASC' } });
  }

  async runs(scheduleId: string, limit: number, before?: string): Promise<ScheduleRun[]> {
    return this.database.manager.find(ScheduleRun, {
      where: { scheduleId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  async runTasks(runIds: string[]): Promise<ScheduleRunTask[]> {
    if (runIds.length === 0) return [];
    return this.database.manager.find(ScheduleRunTask, { where: { runId: In(runIds) }, order: { sequence: 'ASC' } });
  }
}
