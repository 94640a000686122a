import { Allocation } from './allocations/allocation.entity.js';
import { AppAddress } from './allocations/app-address.entity.js';
import { Backup } from './backups/backup.entity.js';
import { ServerInstallation } from './install/server-installation.entity.js';
import { ServerExec } from './exec/server-exec.entity.js';
import { ServerCrash } from './lifecycle/server-crash.entity.js';
import { ScheduleRun, ScheduleRunTask } from './schedules/schedule-run.entity.js';
import { ScheduleTask } from './schedules/schedule-task.entity.js';
import { Schedule } from './schedules/schedule.entity.js';
import { Server } from './server.entity.js';
import { ServerAlert } from './settings/server-alert.entity.js';
import { SftpCredential } from './sftp/sftp-credential.entity.js';
import { ServerVariable } from './startup/server-variable.entity.js';

/** The tables of this module, for whoever opens the database. */
export const SERVER_ENTITIES = [
  Server,
  ServerVariable,
  ServerInstallation,
  ServerCrash,
  ServerExec,
  ServerAlert,
  Schedule,
  ScheduleTask,
  ScheduleRun,
  ScheduleRunTask,
  Backup,
  Allocation,
  AppAddress,
  SftpCredential,
];
