import { Injectable } from '@nestjs/common';
import { Not } from 'typeorm';
import { Config } from '../../../config/config.js';
import type { Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import {
  HandlesOperation,
  OperationFailed,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import type { ServerStatus } from '../server-status.js';
import { Server } from '../server.entity.js';
import { PowerSlots } from '../../instances/lifecycle/power-slots.service.js';
import { SERVER_OPERATIONS, type PowerPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { ServiceContainer } from './service-container.js';

/** Starts, stops and restarts a service's program. */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.power)
export class ServerPowerWorker extends OperationHandler {
  constructor(
    private readonly config: Config,
    private readonly servers: ServerRepository,
    private readonly container: ServiceContainer,
    private readonly events: EventRecorder,
    private readonly atOnce: PowerSlots,
  ) {
    super();
  }

  async steps({ resourceId, payload }: Operation): Promise<OperationStep[]> {
    const server = await this.servers.require(resourceId);
    const patience = this.config.stopTimeoutSeconds * 1000;
    const start: OperationStep[] = [
      { name: 'prepare', run: () => this.container.prepareToRun(server) },
      { name: 'start', run: () => this.container.start(server.id) },
    ];
    switch ((payload as PowerPayload).signal) {
      case 'start':
        return start;
      case 'stop':
        return [{ name: 'stop', run: () => this.stopOrFail(server.id, patience) }];
      case 'restart':
        return [{ name: 'stop', run: () => this.stopOrKill(server.id, patience) }, ...start];
    }
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    const status = (operation.payload as PowerPayload).signal === 'stop' ? 'STOPPED' : 'RUNNING';
    await this.settle(tx, operation.resourceId, status);
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    const { accountId, resourceId } = operation;
    const { signal } = operation.payload as PowerPayload;
    // A program that was asked to stop and has not is still stopping; what could not be started stands still.
    const status = signal === 'stop' ? 'STOPPING' : 'STOPPED';
    await this.settle(tx, resourceId, status);
    const event = 'server:power.fail';
    await this.events.record(tx, { accountId, resourceId, event, properties: { signal, code }, ...SYSTEM });
  }

  /** What stands still in the middle of a restart is not kept waiting. */
  override slots(step: string | null): PowerSlots | null {
    return step === null ? this.atOnce : null;
  }

  /** What was deleted meanwhile stays so. */
  private async settle(tx: Tx, id: string, status: ServerStatus): Promise<void> {
    await tx.manager.update(Server, { id, status: Not('DELETING') }, { status, updatedAt: new Date() });
  }

  private async stopOrFail(serverId: string, patience: number): Promise<void> {
    if (await this.container.stop(serverId, patience)) return;
    const seconds = this.config.stopTimeoutSeconds;
    throw new OperationFailed(
      'stop_timeout',
      `The program was asked to stop and still runs after ${seconds} seconds; "kill" ends it.`,
    );
  }

  /** A restart wants a fresh program, so one that does not stop in time is killed. */
  private async stopOrKill(serverId: string, patience: number): Promise<void> {
    if (!(await this.container.stop(serverId, patience))) await this.container.kill(serverId);
  }
}
