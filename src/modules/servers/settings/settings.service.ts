import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { AccountsService } from '../../accounts/accounts.service.js';
import { Server } from '../server.entity.js';
import { ServerRepository } from '../server.repository.js';
import { SftpCredentials } from '../sftp/sftp-credentials.js';
import { sftpUsername } from '../sftp/sftp-username.js';
import type { AutoRestartView, NameView, RenameDto, SettingsView } from './dto/settings.dto.js';
import { SftpHostKey } from './sftp-host-key.js';

/** A service's name, its access data, and whether it is started again after a crash. */
@Injectable()
export class SettingsService {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly accounts: AccountsService,
    private readonly credentials: SftpCredentials,
    private readonly hostKey: SftpHostKey,
    private readonly events: EventRecorder,
  ) {}

  async get(caller: Principal, id: string): Promise<SettingsView> {
    const { uuid, name, description, autoRestart } = await this.servers.findOwned(caller.accountId, id);
    const [{ password }, account] = await Promise.all([this.credentials.of(id), this.accounts.find(caller.accountId)]);
    const sftp = {
      host: this.config.sftpHost,
      port: this.config.sftpPort,
      username: sftpUsername(account.username, uuid),
      password,
      hostKeyFingerprint: this.hostKey.fingerprint(),
    };
    return { uuid, name, description, autoRestart, sftp };
  }

  async rename(caller: Principal, id: string, { name, description }: RenameDto): Promise<NameView> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      const after = { name, description: description ?? server.description };
      await tx.manager.update(Server, { id }, { ...after, updatedAt: new Date() });
      if (after.name !== server.name) {
        await this.record(tx, caller, server, 'server:settings.rename', { from: server.name, to: after.name });
      }
      if (after.description !== server.description) {
        await this.record(tx, caller, server, 'server:settings.description');
      }
      return after;
    });
  }

  async setAutoRestart(caller: Principal, id: string, enabled: boolean): Promise<AutoRestartView> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      if (server.autoRestart !== enabled) {
        await tx.manager.update(Server, { id }, { autoRestart: enabled, updatedAt: new Date() });
        await this.record(tx, caller, server, 'server:settings.auto-restart', { enabled });
      }
      return { autoRestart: enabled };
    });
  }

  private record(tx: Tx, caller: Principal, server: Server, event: string, properties: object = {}): Promise<void> {
    const { accountId, id: resourceId } = server;
    return this.events.record(tx, { accountId, resourceId, event, properties, ...actorOf(caller) });
  }
}
