import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import type { InstallationView } from '../dto/server.dto.js';
import { ServerRepository } from '../server.repository.js';
import { ServerInstallation } from './server-installation.entity.js';

@Injectable()
export class InstallationService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
  ) {}

  /** How the last installation went; all empty before the first has ended. */
  async get(caller: Principal, id: string): Promise<InstallationView> {
    await this.servers.findOwned(caller.accountId, id);
    const found = await this.database.manager.findOneBy(ServerInstallation, { serverId: id });
    return { exitCode: found?.exitCode ?? null, log: found?.log ?? '', finishedAt: found?.finishedAt ?? null };
  }
}
