import { Injectable } from '@nestjs/common';
import { Engine, EngineError, type PublishedPort } from '../../../drivers/engine/engine.js';
import type { Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationFailed,
  OperationHandler,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { tolerate } from '../../instances/lifecycle/instance-moves.service.js';
import { engineName, SERVER_OPERATIONS, type PortsPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { Allocation } from './allocation.entity.js';
import { publishedPorts } from '../lifecycle/published-ports.js';

/** Opens and closes further ports of a service, live where it runs. */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.ports)
export class ServerPortsWorker extends OperationHandler {
  constructor(
    private readonly engine: Engine,
    private readonly servers: ServerRepository,
  ) {
    super();
  }

  steps({ resourceId, payload }: Operation): OperationStep[] {
    const { allocationId, change } = payload as PortsPayload;
    const undo = async () => {
      if (change === 'remove') return;
      const others = (await this.servers.allocations(resourceId)).filter(({ id }) => id !== allocationId);
      await this.publish(resourceId, publishedPorts(others));
    };
    return [{ name: 'ports', run: () => this.open(resourceId), undo }];
  }

  /** Only now that the engine has let go of it may another service get the port. */
  async onDone(tx: Tx, { payload }: Operation): Promise<void> {
    const { allocationId, change } = payload as PortsPayload;
    if (change === 'remove') await tx.manager.delete(Allocation, { id: allocationId });
  }

  async onFailed(tx: Tx, { payload }: Operation): Promise<void> {
    const { allocationId, change } = payload as PortsPayload;
    if (change === 'add') await tx.manager.delete(Allocation, { id: allocationId });
    else await tx.manager.update(Allocation, { id: allocationId }, { removing: false });
  }

  private async open(serverId: string): Promise<void> {
    try {
      await this.publish(serverId, publishedPorts(await this.servers.allocations(serverId)));
    } catch (error) {
      if (error instanceof EngineError && (error.code === 'failed' || error.code === 'conflict')) {
        throw new OperationFailed('port_taken', 'The port is in use on the node.', { cause: error });
      }
      throw error;
    }
  }

  /** A service whose installation failed has no container; its next one is made with the ports there are. */
  private async publish(serverId: string, ports: PublishedPort[]): Promise<void> {
    await tolerate('not_found', this.engine.setPorts(engineName(serverId), ports));
  }
}
