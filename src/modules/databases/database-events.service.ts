import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { Database } from '../../platform/database/database.js';
import { actorOf, EventRecorder } from '../../platform/events/event-recorder.js';
import type { PlacedDatabase } from './database.repository.js';

/** Notes in a service's activity what was done in its database. */
@Injectable()
export class DatabaseEvents {
  constructor(
    private readonly platform: Database,
    private readonly events: EventRecorder,
  ) {}

  async record(caller: Principal, placed: PlacedDatabase, event: string, properties: object): Promise<void> {
    const { accountId, database } = placed;
    const entry = { accountId, resourceId: database.serverId, event, properties, ...actorOf(caller) };
    // Nothing else is written with it, so it needs no transaction around it.
    await this.events.record(this.platform, entry);
  }
}
