import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/database.js';
import { unavailable } from '../../platform/errors/domain-error.js';
import { newId } from '../../platform/ids/id.js';
import { DatabasePasswords } from './database-passwords.js';
import { ServiceDatabase } from './service-database.entity.js';

/** Hosts with room, the emptiest first. */
const ROOM = `
  SELECT h.id, h.capacity - (SELECT COUNT(*) FROM service_databases d WHERE d.host_id = h.id) AS free
    FROM database_hosts h WHERE h.fault IS NULL HAVING free > 0 ORDER BY free DESC, h.id`;

/** Gives services their databases, as far as rows go; on the host it is made by the service's creation. */
@Injectable()
export class DatabaseClaims {
  constructor(private readonly passwords: DatabasePasswords) {}

  /** Under the account's lock, after its quota was looked at. Throws the 503 when no host has room. */
  async claim(tx: Tx, serverId: string): Promise<void> {
    const id = newId('db');
    const hostId = await this.place(tx);
    const version = 1;
    await tx.manager.insert(ServiceDatabase, {
      id,
      serverId,
      hostId,
      status: 'CREATING',
      version,
      sealedProgram: this.passwords.sealProgram(this.passwords.generate(), { id, version }),
      sealedNext: null,
      sealedPlatform: this.passwords.sealPlatform(this.passwords.generate(), id),
      sizeBytes: 0,
      createdAt: new Date(),
    });
  }

  /** Holds the host's row until the transaction ends, so that the last place on it is given away once. */
  private async place(tx: Tx): Promise<string> {
    for (const { id } of await tx.manager.query<{ id: string }[]>(ROOM)) {
      await tx.manager.query('SELECT id FROM database_hosts WHERE id = ? FOR UPDATE', [id]);
      const still = await tx.manager.query<{ id: string }[]>(`SELECT id FROM (${ROOM}) r WHERE id = ?`, [id]);
      if (still.length > 0) return id;
    }
    throw unavailable('database_host', new Error('no database host that can be used has room'));
  }
}
