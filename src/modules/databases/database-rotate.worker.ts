import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/database.js';
import { HandlesOperation, OperationHandler, type OperationStep } from '../../platform/operations/operation-handler.js';
import type { Operation } from '../../platform/operations/operation.entity.js';
import { DATABASE_OPERATIONS } from './database.operations.js';
import { namesOf } from './database-names.js';
import { DatabasePasswords } from './database-passwords.js';
import { DatabaseRepository } from './database.repository.js';
import { HostLinks } from './lifecycle/host-links.js';
import { ServiceDatabase } from './service-database.entity.js';

/**
 * Gives the program's account a new password. The platform's account gets its own again: a statement can have set another, which
 * would stay with whoever knows it.
 */
@Injectable()
@HandlesOperation(DATABASE_OPERATIONS.rotate)
export class DatabaseRotateWorker extends OperationHandler {
  constructor(
    private readonly databases: DatabaseRepository,
    private readonly passwords: DatabasePasswords,
    private readonly links: HostLinks,
  ) {
    super();
  }

  steps({ resourceId }: Operation): OperationStep[] {
    return [
      { name: 'password', run: () => this.tell(resourceId, 'next'), undo: () => this.tell(resourceId, 'present') },
    ];
  }

  async onDone(tx: Tx, { resourceId: id }: Operation): Promise<void> {
    await tx.manager.query(
      `UPDATE service_databases SET sealed_program = sealed_next, sealed_next = NULL, version = version + 1
        WHERE id = ? AND sealed_next IS NOT NULL`,
      [id],
    );
  }

  async onFailed(tx: Tx, { resourceId: id }: Operation): Promise<void> {
    await tx.manager.update(ServiceDatabase, { id }, { sealedNext: null });
  }

  override async onCancelled(tx: Tx, operation: Operation): Promise<void> {
    await this.onFailed(tx, operation);
  }

  /** Nothing to do when the database was deleted meanwhile. */
  private async tell(id: string, which: 'next' | 'present'): Promise<void> {
    const database = await this.databases.find(id);
    if (!database) return;
    const password = which === 'next' ? this.passwords.openNext(database) : this.passwords.openProgram(database);
    if (password === null) return;
    const host = await this.databases.host(database.hostId);
    const link = this.links.to(host);
    await link.setPassword({ user: namesOf(id).program, password });
    await link.setPassword(this.links.forPlatform(database).platform);
  }
}
