import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { NodeActivity, NodePower, SessionsAnswer } from '../../../platform/internal-api/internal-api.contract.js';
import { Database } from '../../../platform/database/database.js';
import { DomainError, notFound } from '../../../platform/errors/domain-error.js';
import { EventRecorder } from '../../../platform/events/event-recorder.js';
import { AccessService, type Access } from '../../accounts/access.service.js';
import { PowerService } from '../power/power.service.js';
import { ConsoleHolders } from './console-holders.service.js';
import { Server } from '../server.entity.js';
import { ServerRepository } from '../server.repository.js';
import { SftpCredential } from '../sftp/sftp-credential.entity.js';

/** Somebody who is connected to a service through its node. */
export interface ConnectedSession extends Access {
  id: string;
  serverId: string;
  credentialVersion?: number;
}

/** The control plane's side of what people do on nodes: who may stay, what they did, and what they ask of the platform. */
@Injectable()
export class LiveSessionsService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly access: AccessService,
    private readonly power: PowerService,
    private readonly events: EventRecorder,
    private readonly holders: ConsoleHolders,
  ) {}

  async review(nodeId: string, sessions: ConnectedSession[]): Promise<SessionsAnswer> {
    const ids = [...new Set(sessions.map(({ serverId }) => serverId))];
    const [rows, others, credentials, losses] = await Promise.all([
      this.database.manager.findBy(Server, { id: In(ids), nodeId }),
      this.holders.onNode(nodeId, ids),
      this.database.manager.findBy(SftpCredential, { serverId: In(ids) }),
      this.access.losses(sessions),
    ]);
    const present = [...rows.filter(({ status }) => status !== 'DELETING'), ...others];
    const servers = new Map(present.map((one) => [one.id, one]));
    const versions = new Map(credentials.map(({ serverId, version }) => [serverId, version]));
    const close = sessions.flatMap(({ id, accountId, serverId, credentialVersion }, index) => {
      const gone = servers.get(serverId)?.accountId !== accountId;
      const rotated = credentialVersion !== undefined && versions.get(serverId) !== credentialVersion;
      const reason = gone ? 'deleted' : (losses[index] ?? (rotated ? 'revoked' : null));
      return reason === null ? [] : [{ id, reason }];
    });
    return { close, servers: [...servers.values()].map(({ id, status, ram }) => ({ id, status, ram })) };
  }

  async record(nodeId: string, serverId: string, entries: NodeActivity[]): Promise<void> {
    const { accountId, id: resourceId } = await this.onNode(nodeId, serverId);
    await this.database.transaction(async (tx) => {
      for (const entry of entries) await this.events.record(tx, { accountId, resourceId, ...entry });
    });
  }

  /** A power signal on a console counts as much as one over the API, from the same key or session. */
  async signal(nodeId: string, serverId: string, { signal, accountId, actor, ip, ...rest }: NodePower): Promise<void> {
    await this.onNode(nodeId, serverId);
    const keyId = actor.type === 'key' ? actor.id : null;
    const [loss] = await this.access.losses([{ accountId, keyId, ...rest }]);
    if (loss)
      throw new DomainError('forbidden', 'access_lost', 'The access by which the console was opened has ended.');
    const scopes = new Set(['read', 'write'] as const);
    const caller = { accountId, via: actor.type, keyId, scopes, address: ip };
    const holder = this.holders.of(serverId);
    if (holder) await holder.signal(caller, serverId, signal);
    else await this.power.send(caller, serverId, signal);
  }

  private async onNode(nodeId: string, serverId: string): Promise<Pick<Server, 'id' | 'accountId'>> {
    if (this.holders.of(serverId)) {
      const [standing] = await this.holders.onNode(nodeId, [serverId]);
      if (!standing) throw notFound();
      return standing;
    }
    const server = await this.servers.find(serverId);
    if (server?.nodeId !== nodeId) throw notFound();
    return server;
  }
}
