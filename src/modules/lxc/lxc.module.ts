import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { InstancesModule, InstancesWorkerModule } from '../instances/instances.module.js';
import { NodesModule } from '../nodes/nodes.module.js';
import { PortsModule } from '../ports/ports.module.js';
import { ConsoleModule } from '../servers/console/console.module.js';
import { ConsoleMachines } from './console/console-machines.service.js';
import { MachineConsoleService } from './console/machine-console.service.js';
import { MachineImages } from './images.reader.js';
import { MachineContainer } from './lifecycle/machine-container.js';
import { MachineCreateWorker } from './lifecycle/machine-create.worker.js';
import { MachineDeleteWorker } from './lifecycle/machine-delete.worker.js';
import { MachineOwnerWorker } from './lifecycle/machine-owner.worker.js';
import { MachinePortsWorker } from './lifecycle/machine-ports.worker.js';
import { MachinePowerWorker } from './lifecycle/machine-power.worker.js';
import { MachineResizeWorker } from './lifecycle/machine-resize.worker.js';
import { MachineRestoreWorker } from './lifecycle/machine-restore.worker.js';
import { MachineSnapshotDeleteWorker } from './lifecycle/machine-snapshot-delete.worker.js';
import { MachineSnapshotWorker } from './lifecycle/machine-snapshot.worker.js';
import { MachineGate } from './machine-gate.js';
import { MachineNetwork } from './machine-network.service.js';
import { MachinePowerService } from './machine-power.service.js';
import { MachineRepository } from './machine.repository.js';
import { MachinesService } from './machines.service.js';
import { MachineObserver } from './observer/machine-observer.service.js';
import { MachinePortsService } from './ports/machine-ports.service.js';
import { MachineResizeService } from './resize.service.js';
import { SnapshotsService } from './snapshots/snapshots.service.js';
import { MachineUsageReader } from './usage/machine-usage.reader.js';
import { MachineUsageService } from './usage/machine-usage.service.js';

/** Machines as the API serves them. */
@Module({
  imports: [AccountsModule, NodesModule, PortsModule, InstancesModule, ConsoleModule],
  providers: [
    MachineRepository,
    MachineNetwork,
    MachineImages,
    MachineGate,
    MachinesService,
    MachinePowerService,
    MachinePortsService,
    MachineResizeService,
    SnapshotsService,
    MachineUsageReader,
    MachineUsageService,
    MachineConsoleService,
    ConsoleMachines,
    MachineObserver,
  ],
  exports: [
    MachinesService,
    MachinePowerService,
    MachinePortsService,
    MachineResizeService,
    SnapshotsService,
    MachineUsageService,
    MachineConsoleService,
  ],
})
export class LxcModule {}

/** The worker's side: the operations on their containers. */
@Module({
  imports: [InstancesWorkerModule],
  providers: [
    MachineRepository,
    MachineNetwork,
    MachineContainer,
    MachineCreateWorker,
    MachinePowerWorker,
    MachineResizeWorker,
    MachinePortsWorker,
    MachineSnapshotWorker,
    MachineRestoreWorker,
    MachineSnapshotDeleteWorker,
    MachineDeleteWorker,
    MachineOwnerWorker,
  ],
})
export class LxcWorkerModule {}
