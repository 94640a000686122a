import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Batcher } from '../../../platform/batching/batcher.js';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { SHOWN_READS } from '../vault-rules.js';
import type { NewRead } from './new-read.js';
import { RefusalFlood } from './refusal-flood.js';
import { VaultReadRecord } from './vault-read.entity.js';

export type ShownRead = Pick<VaultReadRecord, 'at' | 'via' | 'address' | 'keysServed' | 'refused' | 'repeated'>;

const INSERT = `
  INSERT INTO vault_reads (server_id, read_id, via, address, refused, keys_served, repeated, at) VALUES ?
  ON DUPLICATE KEY UPDATE id = id`;
const BATCH = 200;

/**
 * Who read secrets. A read is served once its record is on the disk, and not at all when it cannot be written; those of one
 * moment are written together. Refusals, which anybody can cause, are counted once there are many of them.
 */
@Injectable()
export class ReadLog implements BeforeApplicationShutdown {
  private readonly batches = new Batcher((rows: unknown[][]) => this.write(rows), { items: BATCH, atOnce: 2 });
  private readonly flood = new RefusalFlood((read, repeated) => this.writeFlood(read, repeated));

  constructor(
    private readonly database: Database,
    private readonly log: AppLogger,
  ) {}

  /** Resolves when it is recorded. */
  async record(read: NewRead): Promise<void> {
    if (read.refused !== null && this.flood.absorbs(read)) return;
    await this.batches.add(rowOf(read, 1));
  }

  /** All in one transaction. Those that are recorded already stay as they are. */
  async recordAll(reads: readonly NewRead[]): Promise<void> {
    const rows = reads
      .filter((read) => read.refused === null || !this.flood.absorbs(read))
      .map((read) => rowOf(read, 1));
    if (rows.length > 0) await this.write(rows);
  }

  /** The newest first. */
  latest(serverId: string): Promise<ShownRead[]> {
    return this.database.manager.find(VaultReadRecord, {
      where: { serverId },
      order: { at: 'DESC', id: 'DESC' },
      take: SHOWN_READS,
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flood.flush();
    await this.batches.idle();
  }

  private async write(rows: unknown[][]): Promise<void[]> {
    try {
      await this.database.manager.query(INSERT, [rows]);
    } catch (error) {
      // One of the services was deleted in this moment: its read is not the others' affair.
      if ((error as { code?: string }).code !== 'ER_NO_REFERENCED_ROW_2' || rows.length === 1) throw error;
      for (const row of rows) await this.write([row]).catch(() => undefined);
    }
    return rows.map(() => undefined);
  }

  private async writeFlood(read: NewRead, repeated: number): Promise<void> {
    try {
      await this.write([rowOf(read, repeated)]);
    } catch (err) {
      this.log.warn({ err, serverId: read.serverId, repeated }, 'Refused reads of secrets could not be recorded');
    }
  }
}

function rowOf(read: NewRead, repeated: number): unknown[] {
  const { serverId, readId = null, via, address, refused, keys, at = new Date() } = read;
  return [serverId, readId, via, address, refused, refused === null ? keys.join(',') : '', repeated, at];
}
