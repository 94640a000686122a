import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import { ServerCrash } from '../lifecycle/server-crash.entity.js';
import { ServerRepository } from '../server.repository.js';
import type { CrashView } from './dto/settings.dto.js';

/** What a service's crashes left to look at. */
@Injectable()
export class CrashesService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
  ) {}

  async list(caller: Principal, serverId: string, { limit, cursor }: PageQuery): Promise<Page<CrashView>> {
    await this.servers.findOwned(caller.accountId, serverId);
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.database.manager.find(ServerCrash, {
      where: { serverId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit + 1,
    });
    return Page.of(rows, limit, ({ id }) => [id]).map(viewOf);
  }
}

function viewOf(crash: ServerCrash): CrashView {
  const { id, at, exitCode, signal, outOfMemory, restarted, memoryBytes, cpuPercent, usageAt } = crash;
  const usage = usageAt && { memoryBytes: Number(memoryBytes), cpuPercent, at: usageAt };
  return { id, at, exitCode, signal, outOfMemory, restarted, usage, output: crash.output ?? [] };
}
