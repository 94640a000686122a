import type { Tx } from '../../../platform/database/database.js';
import type { Operation } from '../../../platform/operations/operation.entity.js';

/** The console of a service's program, as far as tasks need it. */
export abstract class TaskConsole {
  /** Writes one line to the program's standard input. */
  abstract send(serverId: string, text: string): Promise<void>;
}

/** Backups, as far as tasks need them. */
export abstract class TaskBackups {
  /** Starts a backup that may take the place of the oldest unlocked one, as part of the transaction that is the cause. */
  abstract startScheduled(tx: Tx, serverId: string): Promise<Operation>;
}
