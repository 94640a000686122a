import { Injectable } from '@nestjs/common';
import { Engine, EngineError } from '../../../drivers/engine/engine.js';
import type { Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationFailed,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { Server } from '../server.entity.js';
import { engineName, SERVER_OPERATIONS, type Limits, type ResizePayload } from '../server.operations.js';
import { instanceLimits } from './instance-builder.js';
import { tolerate } from '../../instances/lifecycle/instance-moves.service.js';

/** Gives a service its new limits, live where it runs. */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.resize)
export class ServerResizeWorker extends OperationHandler {
  constructor(private readonly engine: Engine) {
    super();
  }

  steps({ resourceId, payload }: Operation): OperationStep[] {
    const { from, to } = payload as ResizePayload;
    const name = engineName(resourceId);
    const steps: OperationStep[] = [];
    if (from.disk !== to.disk) {
      steps.push({ name: 'disk', run: () => this.disk(name, to), undo: () => this.disk(name, from) });
    }
    if (from.ram !== to.ram || from.cpu !== to.cpu) {
      steps.push({ name: 'limits', run: () => this.limits(name, to), undo: () => this.limits(name, from) });
    }
    return steps;
  }

  async onDone(tx: Tx, { resourceId, payload }: Operation): Promise<void> {
    await tx.manager.update(Server, { id: resourceId }, { ...(payload as ResizePayload).to, updatedAt: new Date() });
  }

  async onFailed(tx: Tx, { resourceId, payload }: Operation, _failure: OperationFailure): Promise<void> {
    await tx.manager.update(Server, { id: resourceId }, { ...(payload as ResizePayload).from, updatedAt: new Date() });
  }

  /** A service whose installation failed has no volume and no container; its next creation goes by the rows. */
  private async disk(name: string, { disk }: Limits): Promise<void> {
    await unlessRefused('disk_in_use', 'The disk cannot be made smaller than what is in use.', () =>
      this.engine.resizeVolume(name, disk),
    );
  }

  private async limits(name: string, limits: Limits): Promise<void> {
    await unlessRefused('limits_refused', 'The service cannot have these limits as it stands.', () =>
      this.engine.setLimits(name, instanceLimits(limits)),
    );
  }
}

/** What the engine refuses it will refuse again, so that it is told at once. */
async function unlessRefused(code: string, detail: string, work: () => Promise<void>): Promise<void> {
  try {
    await tolerate('not_found', work());
  } catch (error) {
    const refused = error instanceof EngineError && (error.code === 'invalid' || error.code === 'conflict');
    throw refused ? new OperationFailed(code, detail, { cause: error }) : error;
  }
}
