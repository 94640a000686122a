import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationHandler,
  RunAgain,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { BackupRemoverWorker } from '../backups/backup-remover.worker.js';
import { BACKUP_LANE } from '../backups/backup.operations.js';
import { NetworkLedger } from '../allocations/network-ledger.js';
import { DatabaseProvisioning } from '../../databases/lifecycle/database-provisioning.service.js';
import { Server } from '../server.entity.js';
import { KILL_LANE, SERVER_OPERATIONS } from '../server.operations.js';
import { ServiceContainer } from './service-container.js';

const WAIT_MS = 200;

/** Removes everything of a deleted service; its row goes last, so that nothing is ever without an owner. */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.delete)
export class ServerDeleteWorker extends OperationHandler {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly ledger: NetworkLedger,
    private readonly container: ServiceContainer,
    private readonly backups: BackupRemoverWorker,
    private readonly databases: DatabaseProvisioning,
  ) {
    super();
  }

  steps({ resourceId }: Operation): OperationStep[] {
    return [
      { name: 'wait', run: () => this.othersToEnd(resourceId) },
      { name: 'instance', run: () => this.container.removeInstance(resourceId) },
      { name: 'database', run: () => this.databases.remove(resourceId) },
      { name: 'volume', run: () => this.container.removeVolume(resourceId) },
      { name: 'backups', run: () => this.backups.removeAll(resourceId) },
    ];
  }

  async onDone(tx: Tx, { resourceId }: Operation): Promise<void> {
    await this.ledger.releaseAddress(tx, resourceId);
    await this.databases.forget(tx, resourceId);
    await tx.manager.delete(Server, { id: resourceId });
  }

  /** The row stays `DELETING`, out of the account's sight; the operators are told by the log and can retry it. */
  async onFailed(): Promise<void> {}

  private async othersToEnd(serverId: string): Promise<void> {
    for (const lane of [undefined, KILL_LANE, BACKUP_LANE]) {
      const other = await this.operations.active(this.database, serverId, lane);
      if (!other) continue;
      if (await this.operations.cancel(this.database, other)) continue;
      await this.container.kill(serverId);
      throw new RunAgain(WAIT_MS);
    }
  }
}
