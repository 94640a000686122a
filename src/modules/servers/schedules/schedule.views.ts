import type { RunTaskView, RunView, ScheduleView, TaskView } from './dto/schedule.dto.js';
import type { ScheduleRun, ScheduleRunTask } from './schedule-run.entity.js';
import type { ScheduleTask } from './schedule-task.entity.js';
import type { Schedule } from './schedule.entity.js';
import { cronFieldsOf } from './schedule-rules.js';

export function scheduleView(schedule: Schedule, tasks: ScheduleTask[]): ScheduleView {
  const { id, name, timezone, isActive, onlyWhenOnline, lastRunAt, nextRunAt } = schedule;
  const fields = cronFieldsOf(schedule);
  return { id, name, ...fields, timezone, isActive, onlyWhenOnline, lastRunAt, nextRunAt, tasks: tasks.map(taskView) };
}

export function taskView({ id, sequence, action, payload, timeOffset, continueOnFailure }: ScheduleTask): TaskView {
  return { id, sequence, action, payload, timeOffset, continueOnFailure };
}

export function runView(run: ScheduleRun, tasks: ScheduleRunTask[]): RunView {
  const { id, slot, status, reason, operationId, createdAt, startedAt, finishedAt } = run;
  return { id, slot, status, reason, operationId, tasks: tasks.map(runTaskView), createdAt, startedAt, finishedAt };
}

function runTaskView(task: ScheduleRunTask): RunTaskView {
  const { taskId, sequence, action, payload, status, operationId, startedAt, finishedAt } = task;
  const error = task.errorCode === null ? null : { code: task.errorCode, detail: task.errorDetail ?? '' };
  return { taskId, sequence, action, payload, status, operationId, error, startedAt, finishedAt };
}
