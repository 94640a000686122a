import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import { Engine, EngineError } from '../../../drivers/engine/engine.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { ServiceContainer } from '../lifecycle/service-container.js';
import { Server } from '../server.entity.js';
import { engineName, KILL_LANE } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { Backup } from './backup.entity.js';
import { asideName, BACKUP_OPERATIONS, type RestorePayload } from './backup.operations.js';
import { BackupRepository } from './backup.repository.js';
import { Archiver } from './lifecycle/archiver.js';
import { BackupSlots } from './lifecycle/backup-slots.js';
import { VolumeSwap } from './lifecycle/volume-swap.js';
import { Workshop } from './lifecycle/workshop.js';

/** Steps during which it runs. */
const BESIDE_THE_SERVICE = ['verify', 'build'];

/**
 * Makes a service's data what a backup holds: the archive is checked, unpacked into a new volume aside, and only when that is
 * on the disk the service is stopped and the volumes change places.
 */
@Injectable()
@HandlesOperation(BACKUP_OPERATIONS.restore)
export class RestoreWorker extends OperationHandler {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly servers: ServerRepository,
    private readonly backups: BackupRepository,
    private readonly engine: Engine,
    private readonly container: ServiceContainer,
    private readonly workshop: Workshop,
    private readonly volumes: VolumeSwap,
    private readonly archiver: Archiver,
    private readonly events: EventRecorder,
    private readonly atOnce: BackupSlots,
  ) {
    super();
  }

  async steps({ resourceId: id, payload }: Operation): Promise<OperationStep[]> {
    const { backupId, wasRunning } = payload as RestorePayload;
    const server = await this.servers.require(id);
    const backup = await this.backups.require(backupId);
    return [
      // The whole archive is read before anything is touched.
      { name: 'verify', run: ({ signal }) => this.archiver.verify(backup, signal) },
      {
        name: 'build',
        run: ({ signal }) => this.build(server, backup, signal),
        undo: () => this.workshop.discard(asideName('rst', id)),
      },
      { name: 'halt', run: () => this.halt(id), undo: () => this.asItWas(server, wasRunning) },
      { name: 'swap', run: () => this.volumes.swap(id), undo: () => this.volumes.undo(id) },
      {
        name: 'instance',
        run: () => this.setGoing(server, wasRunning),
        undo: () => this.container.removeInstance(id),
      },
      { name: 'old', run: () => this.volumes.giveUpOld(id) },
    ];
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    await this.end(tx, operation, 'server:backup.restore-complete');
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    await this.end(tx, operation, 'server:backup.restore-failed', { code });
  }

  override async onCancelled(tx: Tx, { payload }: Operation): Promise<void> {
    await this.release(tx, payload as RestorePayload);
  }

  /** From where the service stands still, it is not kept waiting. */
  override slots(step: string | null): BackupSlots | null {
    return step === null || BESIDE_THE_SERVICE.includes(step) ? this.atOnce : null;
  }

  private async build(server: Server, backup: Backup, signal: AbortSignal): Promise<void> {
    const name = asideName('rst', server.id);
    await this.volumes.clear(server.id);
    await this.engine.createVolume({ name, sizeMb: server.disk, owner: server.id });
    await this.workshop.open(name, server);
    await this.archiver.unpack(name, backup, signal);
    await this.workshop.close(name);
  }

  private async halt(id: string): Promise<void> {
    const stopped = await this.container.stop(id, this.config.stopTimeoutSeconds * 1000);
    if (!stopped) await this.container.kill(id);
    await this.container.removeInstance(id);
  }

  /** A container on whatever volume is the service's now. */
  private async setGoing(server: Server, run: boolean): Promise<void> {
    await this.container.prepareToRun(server);
    // Straight from the engine, for what it could not start is worth another try before all is undone.
    if (run && !(await this.isKilled(this.database, server.id))) {
      await this.engine.startInstance(engineName(server.id));
    }
  }

  /** What cannot be started stands still, and the node's reports make the status agree. */
  private async asItWas(server: Server, ran: boolean): Promise<void> {
    try {
      await this.setGoing(server, ran);
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'failed') throw error;
    }
  }

  private async end(tx: Tx, operation: Operation, event: string, more: object = {}): Promise<void> {
    const { accountId, resourceId } = operation;
    const payload = operation.payload as RestorePayload;
    const now = new Date();
    const runs = payload.wasRunning && !(await this.isKilled(tx, resourceId));
    await tx.manager.update(
      Server,
      { id: resourceId, status: 'RESTORING' },
      { status: runs ? 'RUNNING' : 'STOPPED', restartBudgetFrom: now, updatedAt: now },
    );
    const { uuid, name } = await this.release(tx, payload);
    const properties = { uuid, name, ...more };
    await this.events.record(tx, { accountId, resourceId, event, properties, ...SYSTEM });
  }

  /** Who killed it meanwhile waits for the end of this, and is to find it stopped. */
  private async isKilled(at: Pick<Tx, 'manager'>, id: string): Promise<boolean> {
    return (await this.operations.active(at, id, KILL_LANE)) !== null;
  }

  private async release(tx: Tx, { backupId: id }: RestorePayload): Promise<Backup> {
    await tx.manager.update(Backup, { id, status: 'RESTORING' }, { status: 'READY' });
    return tx.manager.findOneByOrFail(Backup, { id });
  }
}
