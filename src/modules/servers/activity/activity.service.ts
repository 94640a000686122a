import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { EventRecorder } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import type { ActivityView } from '../dto/server.dto.js';
import { ServerRepository } from '../server.repository.js';

/** What happened to a service, and who did it. */
@Injectable()
export class ActivityService {
  constructor(
    private readonly servers: ServerRepository,
    private readonly events: EventRecorder,
  ) {}

  async list(caller: Principal, id: string, { limit, cursor }: PageQuery): Promise<Page<ActivityView>> {
    await this.servers.findOwned(caller.accountId, id);
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.events.list(id, limit + 1, before);
    return Page.of(rows, limit, (entry) => [entry.id]).map((entry) => ({
      id: entry.id,
      event: entry.event,
      actor: { type: entry.actorType, id: entry.actorId },
      ip: entry.ip,
      properties: entry.properties,
      createdAt: entry.createdAt,
    }));
  }
}
