import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { CreationSlots } from '../../instances/lifecycle/creation-slots.service.js';
import { DatabaseProvisioning } from '../../databases/lifecycle/database-provisioning.service.js';
import { Server } from '../server.entity.js';
import { SERVER_OPERATIONS } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { Installer } from './installer.js';
import { ServiceContainer } from './service-container.js';

/** Puts a new service, or one whose installation failed, into its container and starts it. */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.create)
export class ServerCreateWorker extends OperationHandler {
  constructor(
    private readonly servers: ServerRepository,
    private readonly container: ServiceContainer,
    private readonly installer: Installer,
    private readonly databases: DatabaseProvisioning,
    private readonly events: EventRecorder,
    private readonly atOnce: CreationSlots,
  ) {
    super();
  }

  async steps({ resourceId }: Operation): Promise<OperationStep[]> {
    const server = await this.servers.require(resourceId);
    // After a reinstallation that failed, volume and database hold the account's data.
    const keeps = server.installedAt !== null;
    return [
      {
        name: 'database',
        run: () => this.databases.ensure(server.id),
        undo: async () => (keeps ? undefined : this.databases.undo(server.id)),
      },
      {
        name: 'volume',
        run: () => this.container.ensureVolume(server),
        undo: async () => (keeps ? undefined : this.container.removeVolume(server.id)),
      },
      {
        name: 'instance',
        run: () => this.container.ensureInstance(server, 'install'),
        undo: () => this.container.removeInstance(server.id),
      },
      { name: 'start', run: (context) => this.installer.begin(context) },
      { name: 'install', run: (context) => this.installer.wait(context) },
    ];
  }

  override slots(): CreationSlots {
    return this.atOnce;
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    const now = new Date();
    await tx.manager.update(
      Server,
      { id: operation.resourceId, status: 'INSTALLING' },
      { status: 'RUNNING', installedAt: now, restartBudgetFrom: now, updatedAt: now },
    );
    await this.record(tx, operation, 'server:install.complete');
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    await tx.manager.update(
      Server,
      { id: operation.resourceId, status: 'INSTALLING' },
      { status: 'INSTALL_FAILED', updatedAt: new Date() },
    );
    await this.record(tx, operation, 'server:install.fail', { code });
  }

  private async record(tx: Tx, { accountId, resourceId }: Operation, event: string, properties = {}): Promise<void> {
    await this.events.record(tx, { accountId, resourceId, event, properties, ...SYSTEM });
  }
}
