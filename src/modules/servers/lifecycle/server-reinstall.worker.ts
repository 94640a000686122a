import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
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
import { Server } from '../server.entity.js';
import { SERVER_OPERATIONS, type ReinstallPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { Installer } from './installer.js';
import { ServiceContainer } from './service-container.js';

/** Runs the installation again in a fresh container on the volume that is there. */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.reinstall)
export class ServerReinstallWorker extends OperationHandler {
  constructor(
    private readonly config: Config,
    private readonly servers: ServerRepository,
    private readonly container: ServiceContainer,
    private readonly installer: Installer,
    private readonly events: EventRecorder,
    private readonly atOnce: CreationSlots,
  ) {
    super();
  }

  async steps({ resourceId, payload }: Operation): Promise<OperationStep[]> {
    const server = await this.servers.require(resourceId);
    const halt = async () => {
      const stopped = await this.container.stop(server.id, this.config.stopTimeoutSeconds * 1000);
      if (!stopped) await this.container.kill(server.id);
    };
    return [
      {
        name: 'replace',
        run: async () => {
          await halt();
          await this.container.removeInstance(server.id);
        },
      },
      {
        name: 'instance',
        run: () => this.container.ensureInstance(server, 'install'),
        undo: () => this.container.removeInstance(server.id),
      },
      { name: 'start', run: (context) => this.installer.begin(context) },
      { name: 'install', run: (context) => this.installer.wait(context) },
      ...((payload as ReinstallPayload).wasRunning ? [] : [{ name: 'stop', run: halt }]),
    ];
  }

  override slots(): CreationSlots {
    return this.atOnce;
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    const status = (operation.payload as ReinstallPayload).wasRunning ? 'RUNNING' : 'STOPPED';
    await this.end(tx, operation, status, 'server:reinstall.complete');
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    await this.end(tx, operation, 'INSTALL_FAILED', 'server:reinstall.fail', { code });
  }

  private async end(
    tx: Tx,
    { accountId, resourceId }: Operation,
    status: Server['status'],
    event: string,
    properties = {},
  ): Promise<void> {
    const now = new Date();
    await tx.manager.update(
      Server,
      { id: resourceId, status: 'REINSTALLING' },
      { status, restartBudgetFrom: now, updatedAt: now },
    );
    await this.events.record(tx, { accountId, resourceId, event, properties, ...SYSTEM });
  }
}
