import { Module } from '@nestjs/common';
import { InstancesModule } from '../modules/instances/instances.module.js';
import { LxcModule } from '../modules/lxc/lxc.module.js';
import { InternalListener } from '../modules/nodes/internal-listener.js';
import { NodeTokenGuard } from '../modules/nodes/node-token.guard.js';
import { NodesModule } from '../modules/nodes/nodes.module.js';
import { LiveSessionsInternalController } from '../modules/servers/console/live-sessions.internal.controller.js';
import { FirewallInternalController } from '../modules/servers/allocations/firewall.internal.controller.js';
import { SftpLoginInternalController } from '../modules/servers/sftp/sftp-login.internal.controller.js';
import { NodeReportInternalController } from '../modules/servers/observer/node-report.internal.controller.js';
import { VaultReadsInternalController } from '../modules/vault/reads/vault-reads.internal.controller.js';
import { VaultModule } from '../modules/vault/vault.module.js';
import { ServersModule } from '../modules/servers/servers.module.js';

/** What stands under `/internal`, by the private listener only. */
@Module({
  imports: [NodesModule, InstancesModule, ServersModule, LxcModule, VaultModule],
  providers: [InternalListener, NodeTokenGuard],
  controllers: [
    NodeReportInternalController,
    FirewallInternalController,
    SftpLoginInternalController,
    LiveSessionsInternalController,
    VaultReadsInternalController,
  ],
  exports: [InternalListener],
})
export class InternalApiModule {}
