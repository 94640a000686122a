import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { requestContext } from '../observability/request-context.js';

/** One unit of work: everything done through `manager` commits together or not at all. */
export interface Tx {
  readonly manager: EntityManager;
  /**
   * Runs after the commit, never when the transaction is rolled back. A failure in it is the callee's to handle: the
   * work is committed and the caller is not told otherwise.
   */
  afterCommit(work: () => void | Promise<void>): void;
}

const DEADLOCK = new Set(['ER_LOCK_DEADLOCK', 'ER_CHECKREAD']);
const MAX_ATTEMPTS = 5;

/** The only door to the database: repositories take a `Tx`'s manager or this one's for reads outside a transaction. */
@Injectable()
export class Database {
  constructor(private readonly dataSource: DataSource) {}

  get manager(): EntityManager {
    return this.dataSource.manager;
  }

  /**
   * Runs `work` in a transaction at READ COMMITTED and retries it as a whole when the server chose it as the victim of a
   * deadlock, so `work` must not touch anything but the database. Nothing slow may happen inside.
   */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const after: (() => void | Promise<void>)[] = [];
      try {
        const result = await this.dataSource.transaction('READ COMMITTED', async (manager) => {
          const done = await work({ manager, afterCommit: (callback) => after.push(callback) });
          // From here on it may be committed, whatever becomes of the answer.
          const context = requestContext();
          if (context) context.changed = true;
          return done;
        });
        for (const callback of after) await callback();
        return result;
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS || !isDeadlock(error)) throw error;
      }
    }
  }

  /** Runs `work` while holding a named lock of the server; does nothing when another process has it. */
  async exclusively(lock: string, work: () => Promise<void>): Promise<void> {
    await this.holding(lock, 0, async (held) => {
      if (held) await work();
    });
  }

  /** Runs `work` when no other process is in a piece of work of that name; throws when that takes too long. */
  async inTurn<T>(lock: string, waitSeconds: number, work: () => Promise<T>): Promise<T> {
    return this.holding(lock, waitSeconds, async (held) => {
      if (!held) throw new Error(`the lock ${lock} was not to be had in ${waitSeconds} seconds`);
      return work();
    });
  }

  private async holding<T>(lock: string, waitSeconds: number, work: (held: boolean) => Promise<T>): Promise<T> {
    const holder = this.dataSource.createQueryRunner();
    try {
      const [row] = (await holder.query('SELECT GET_LOCK(?, ?) AS held', [lock, waitSeconds])) as { held: unknown }[];
      const held = Number(row?.held) === 1;
      try {
        return await work(held);
      } finally {
        if (held) await holder.query('SELECT RELEASE_LOCK(?)', [lock]);
      }
    } finally {
      await holder.release();
    }
  }
}

function isDeadlock(error: unknown): boolean {
  return DEADLOCK.has((error as { code?: string }).code ?? '');
}

/** Whether the database refused a row because a unique key is taken; `index` narrows it to that key. */
export function isDuplicate(error: unknown, index?: string): boolean {
  const { code, sqlMessage } = error as { code?: string; sqlMessage?: string };
  return code === 'ER_DUP_ENTRY' && (index === undefined || (sqlMessage ?? '').includes(index));
}
