import { Injectable } from '@nestjs/common';
import { DatabaseHostError } from '../../../drivers/database-host/database-host.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { namesOf } from '../database-names.js';
import { DatabaseRepository } from '../database.repository.js';
import { ServiceDatabase } from '../service-database.entity.js';
import { HostLinks } from './host-links.js';

/** A service's database on its host: steps of the service's own operations, each of which may be run again. */
@Injectable()
export class DatabaseProvisioning {
  constructor(
    private readonly database: Database,
    private readonly databases: DatabaseRepository,
    private readonly links: HostLinks,
  ) {}

  /** Makes it; nothing to do for a service without one. */
  async ensure(serverId: string): Promise<void> {
    const placed = await this.databases.ofServer(serverId);
    if (!placed) return;
    const { database, host } = placed;
    const link = this.links.to(host);
    const { faults } = await link.inspect();
    // Another try follows: whoever runs the host may mend it, and is told by its own check.
    if (faults.length > 0)
      throw new DatabaseHostError('unavailable', `the database host is not hardened: ${faults[0]}`);
    await link.provision(host.id, this.links.hosted(database));
    await this.setStatus(database.id, 'READY');
  }

  /** Takes it away again, for a service that never came to be. */
  async undo(serverId: string): Promise<void> {
    const id = await this.removeFromHost(serverId);
    if (id !== null) await this.setStatus(id, 'FAILED');
  }

  /** Removes it for good; its row stays until `forget`. */
  async remove(serverId: string): Promise<void> {
    await this.removeFromHost(serverId);
  }

  /** With the service's own row. */
  async forget(tx: Tx, serverId: string): Promise<void> {
    await tx.manager.delete(ServiceDatabase, { serverId });
  }

  private async removeFromHost(serverId: string): Promise<string | null> {
    const placed = await this.databases.ofServer(serverId);
    if (!placed) return null;
    const { id } = placed.database;
    const { schema, program, platform } = namesOf(id);
    await this.links.to(placed.host).remove({ schema, users: [program, platform] });
    return id;
  }

  private async setStatus(id: string, status: 'READY' | 'FAILED'): Promise<void> {
    await this.database.manager.update(ServiceDatabase, { id }, { status });
  }
}
