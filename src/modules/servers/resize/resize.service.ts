import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { conflict } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import type { ResizedServer, ResizeServerDto } from '../dto/server.dto.js';
import { ServerGate } from '../server-gate.js';
import { ServerQuota } from '../server-quota.js';
import { Server } from '../server.entity.js';
import { SERVER_OPERATIONS, type Limits, type ResizePayload } from '../server.operations.js';
import { ServerRepository, type ServerUsageSums } from '../server.repository.js';
import { ServersService } from '../servers.service.js';
import { ServerUsageReader } from '../usage/server-usage.reader.js';

/** How long a resize waits for the engine before it answers that the limits will hold later. */
const RESIZE_WAIT_MS = 10_000;

/** Gives services other limits, live. */
@Injectable()
export class ResizeService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly details: ServersService,
    private readonly quota: ServerQuota,
    private readonly gate: ServerGate,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
    private readonly usage: ServerUsageReader,
  ) {}

  async resize(caller: Principal, id: string, wanted: ResizeServerDto): Promise<ResizedServer> {
    const before = await this.servers.findOwned(caller.accountId, id);
    if (wanted.disk !== undefined && wanted.disk < before.disk) await this.mustFit(before, wanted.disk);
    const operation = await this.database.transaction(async (tx) => {
      const room = await this.quota.room(tx, caller.accountId, id);
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      await this.gate.mustAllow(tx, server, 'resize');
      const from: Limits = { ram: server.ram, disk: server.disk, cpu: server.cpu };
      const to: Limits = { ...from, ...definedOnly(wanted) };
      // A plan that was lowered below what is in use must not forbid making things smaller.
      room.mustHold(growing(from, to));
      // What it gives up is not free before it has been given up.
      await tx.manager.update(Server, { id }, { ...larger(from, to), updatedAt: new Date() });
      await this.events.record(tx, {
        accountId: server.accountId,
        resourceId: id,
        event: 'server:resize',
        properties: { from, to },
        ...actorOf(caller),
      });
      return this.operations.start(tx, {
        accountId: caller.accountId,
        type: SERVER_OPERATIONS.resize,
        resourceId: id,
        payload: { from, to } satisfies ResizePayload,
      });
    });
    const appliedLive = await this.operations.mustSucceed(operation.id, RESIZE_WAIT_MS);
    return { ...(await this.details.get(caller, id)), appliedLive };
  }

  private async mustFit(server: Server, diskMb: number): Promise<void> {
    const bytes = await this.usage.diskBytes(server.id);
    if (bytes > diskMb * 1024 * 1024) {
      throw conflict('disk_in_use', `The service uses more than ${diskMb} MB of its disk.`, {
        currentStatus: server.status,
        usedBytes: bytes,
      });
    }
  }
}

function larger(from: Limits, to: Limits): Limits {
  return { ram: Math.max(from.ram, to.ram), disk: Math.max(from.disk, to.disk), cpu: Math.max(from.cpu, to.cpu) };
}

function growing(from: Limits, to: Limits): Partial<ServerUsageSums> {
  const names = ['ram', 'disk', 'cpu'] as const;
  return Object.fromEntries(names.filter((name) => to[name] > from[name]).map((name) => [name, to[name]]));
}

function definedOnly(wanted: ResizeServerDto): Partial<Limits> {
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
}
