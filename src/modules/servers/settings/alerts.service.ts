import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { ServerRepository } from '../server.repository.js';
import type { AlertsDto, AlertsView } from './dto/settings.dto.js';
import { ServerAlert } from './server-alert.entity.js';

/** At which consumption an account is told. Watching it is the worker's business. */
@Injectable()
export class AlertsService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly events: EventRecorder,
  ) {}

  async get(caller: Principal, serverId: string): Promise<AlertsView> {
    await this.servers.findOwned(caller.accountId, serverId);
    const alert = await this.database.manager.findOneBy(ServerAlert, { serverId });
    return { ram: alert?.ram ?? null, cpu: alert?.cpu ?? null };
  }

  /** A threshold that is moved is armed anew, if not to be told at once; one that stays keeps what was told about it. */
  async set(caller: Principal, serverId: string, { ram, cpu }: AlertsDto): Promise<AlertsView> {
    return this.database.transaction(async (tx) => {
      const { accountId } = await this.servers.lockOwned(tx, caller.accountId, serverId);
      const lock = { mode: 'pessimistic_write' } as const;
      const before = await tx.manager.findOne(ServerAlert, { where: { serverId }, lock });
      const state = {
        ram,
        cpu,
        ramRaised: before?.ram === ram && before.ramRaised,
        cpuRaised: before?.cpu === cpu && before.cpuRaised,
        updatedAt: new Date(),
      };
      if (before) await tx.manager.update(ServerAlert, { serverId }, state);
      else await tx.manager.insert(ServerAlert, { serverId, ...state, sampledAt: new Date(0) });
      const event = { accountId, resourceId: serverId, event: 'server:settings.alerts', properties: { ram, cpu } };
      await this.events.record(tx, { ...event, ...actorOf(caller) });
      return { ram, cpu };
    });
  }
}
