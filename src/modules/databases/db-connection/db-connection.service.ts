import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { stateConflict } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import type { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { namesOf } from '../database-names.js';
import { DatabasePasswords } from '../database-passwords.js';
import { USABLE } from '../database-status.js';
import { DatabaseRepository } from '../database.repository.js';
import { DATABASE_OPERATIONS } from '../database.operations.js';
import type { DbConnectionView } from '../dto/database.dto.js';
import { ServiceDatabase } from '../service-database.entity.js';

/** How a service's program reaches its database. */
@Injectable()
export class DbConnectionService {
  constructor(
    private readonly platform: Database,
    private readonly databases: DatabaseRepository,
    private readonly passwords: DatabasePasswords,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async get(caller: Principal, serverId: string): Promise<DbConnectionView> {
    const { database: row, host: placed } = await this.databases.findOwned(caller.accountId, { serverId });
    const { schema: database, program: username } = namesOf(row.id);
    const { serviceAddress: host, servicePort: port } = placed;
    const password = this.passwords.openProgram(row);
    const authority = host.includes(':') ? `[${host}]` : host;
    const uri = `mysql://${username}:${password}@${authority}:${port}/${database}`;
    return { host, port, database, username, password, uri };
  }

  /** The password is made here and sealed into the row; the worker tells the host, and then it takes the old one's place. */
  async rotatePassword(caller: Principal, serverId: string): Promise<Operation> {
    return this.platform.transaction(async (tx) => {
      const { accountId } = caller;
      const { database } = await this.databases.lockOwned(tx, accountId, { serverId });
      const { id, status, version } = database;
      if (!USABLE.includes(status)) throw stateConflict('rotate-password', status);
      const type = DATABASE_OPERATIONS.rotate;
      const operation = await this.operations.start(tx, { accountId, type, resourceId: id });
      const sealedNext = this.passwords.sealProgram(this.passwords.generate(), { id, version: version + 1 });
      await tx.manager.update(ServiceDatabase, { id }, { sealedNext });
      const event = 'server:database.rotate-password';
      await this.events.record(tx, { accountId, resourceId: serverId, event, ...actorOf(caller) });
      return operation;
    });
  }
}
