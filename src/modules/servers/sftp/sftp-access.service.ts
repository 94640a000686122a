import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { AccountsService } from '../../accounts/accounts.service.js';
import { ServerRepository } from '../server.repository.js';
import type { SftpPasswordView } from './dto/sftp.dto.js';
import { SftpCredentials } from './sftp-credentials.js';
import { sftpUsername } from './sftp-username.js';

/** What account holders do with the access to a service's files. */
@Injectable()
export class SftpAccessService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly accounts: AccountsService,
    private readonly credentials: SftpCredentials,
    private readonly events: EventRecorder,
  ) {}

  async rotatePassword(caller: Principal, id: string): Promise<SftpPasswordView> {
    const { uuid, password } = await this.database.transaction(async (tx) => {
      const { uuid, accountId } = await this.servers.lockOwned(tx, caller.accountId, id);
      const { password } = await this.credentials.rotate(tx, id);
      const event = 'server:sftp.rotate-password';
      await this.events.record(tx, { accountId, resourceId: id, event, ...actorOf(caller) });
      return { uuid, password };
    });
    const { username } = await this.accounts.find(caller.accountId);
    return { username: sftpUsername(username, uuid), password };
  }
}
