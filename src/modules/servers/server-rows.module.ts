import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { NodesModule } from '../nodes/nodes.module.js';
import { PortsModule } from '../ports/ports.module.js';
import { NetworkLedger } from './allocations/network-ledger.js';
import { PowerService } from './power/power.service.js';
import { ServerDirectory } from './server-directory.service.js';
import { ServerRepository } from './server.repository.js';
import { StartupService } from './startup/startup.service.js';

/** What the api, the worker and the areas of services need of their rows. */
@Module({
  imports: [AccountsModule, NodesModule, PortsModule],
  providers: [ServerDirectory, ServerRepository, NetworkLedger, StartupService, PowerService],
  exports: [
    ServerDirectory,
    ServerRepository,
    NetworkLedger,
    StartupService,
    PowerService,
    AccountsModule,
    NodesModule,
  ],
})
export class ServerRowsModule {}
