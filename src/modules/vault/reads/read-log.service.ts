import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Batcher } from '../../../platform/batching/batcher.js';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { SHOWN_READS } from '../vault-rules.js';
import { byHash, keyListOf, KeyLists, type ServedList } from './key-lists.service.js';
import type { NewRead } from './new-read.js';
import { RefusalFlood } from './refusal-flood.js';
import type { VaultReadRecord } from './vault-read.entity.js';

export type ShownRead = Pick<VaultReadRecord, 'at' | 'via' | 'address' | 'refused' | 'repeated'> & {
  /** Comma list. */
  names: string | null;
};

interface Entry {
  row: unknown[];
  list: ServedList | null;
}

const INSERT = `
  INSERT INTO vault_reads (server_id, read_id, via, address, refused, repeated, at, key_list) VALUES ?
  ON DUPLICATE KEY UPDATE id = id`;
const LATEST = `
  SELECT r.at, r.via, r.address, r.refused, r.repeated, l.names
    FROM vault_reads r LEFT JOIN vault_key_lists l ON l.hash = r.key_list
   WHERE r.server_id = ? ORDER BY r.at DESC, r.id DESC LIMIT ${SHOWN_READS}`;
const BATCH = 200;

/**
 * Who read secrets. A read is served once its record is on the disk, and not at all when it cannot be written; those of one
 * moment are written together. Refusals, which anybody can cause, are counted once there are many of them.
 */
@Injectable()
export class ReadLog implements BeforeApplicationShutdown {
  private readonly batches = new Batcher((entries: Entry[]) => this.write(entries), { items: BATCH, atOnce: 2 });
  private readonly flood = new RefusalFlood((read, repeated) => this.writeFlood(read, repeated));

  constructor(
    private readonly database: Database,
    private readonly lists: KeyLists,
    private readonly log: AppLogger,
  ) {}

  /** Resolves when it is recorded. */
  async record(read: NewRead): Promise<void> {
    if (read.refused !== null && this.flood.absorbs(read)) return;
    await this.batches.add(entryOf(read, 1));
  }

  /** All in one statement. Those that are recorded already stay as they are. */
  async recordAll(reads: readonly NewRead[]): Promise<void> {
    const entries = reads
      .filter((read) => read.refused === null || !this.flood.absorbs(read))
      .map((read) => entryOf(read, 1));
    if (entries.length > 0) await this.write(entries);
  }

  /** The newest first. */
  latest(serverId: string): Promise<ShownRead[]> {
    return this.database.manager.query<ShownRead[]>(LATEST, [serverId]);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flood.flush();
    await this.batches.idle();
  }

  private async write(entries: Entry[]): Promise<void[]> {
    try {
      await this.insert(entries);
    } catch (error) {
      if (!refersToNothing(error)) throw error;
      await this.writeEach(entries);
    }
    return entries.map(() => undefined);
  }

  /** After one of the services was deleted in this moment: its read is not the others' affair. */
  private async writeEach(entries: Entry[]): Promise<void> {
    this.lists.forget();
    for (const entry of entries) {
      try {
        await this.insert([entry]);
      } catch (error) {
        if (entries.length === 1 || !refersToNothing(error)) throw error;
      }
    }
  }

  private async insert(entries: Entry[]): Promise<void> {
    const ordered = entries.toSorted((one, other) => byHash(one.list, other.list));
    await this.lists.store(ordered.flatMap(({ list }) => list ?? []));
    await this.database.manager.query(INSERT, [ordered.map(({ row, list }) => [...row, list?.hash ?? null])]);
  }

  private async writeFlood(read: NewRead, repeated: number): Promise<void> {
    try {
      await this.write([entryOf(read, repeated)]);
    } catch (err) {
      this.log.warn({ err, serverId: read.serverId, repeated }, 'Refused reads of secrets could not be recorded');
    }
  }
}

function entryOf(read: NewRead, repeated: number): Entry {
  const { serverId, accountId, readId = null, via, address, refused, keys, at = new Date() } = read;
  const list = refused === null ? keyListOf(keys) : null;
  return {
    row: [serverId, readId, via, address, refused, repeated, at],
    list: list && { ...list, accountId },
  };
}

function refersToNothing(error: unknown): boolean {
  return (error as { code?: string }).code === 'ER_NO_REFERENCED_ROW_2';
}
