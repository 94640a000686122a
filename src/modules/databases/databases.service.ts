import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { decodeCursor, Page, type PageQuery } from '../../platform/http/page.js';
import { DatabaseRepository } from './database.repository.js';
import { databaseView, type DatabaseView } from './dto/database.dto.js';

/** Shows accounts their databases. */
@Injectable()
export class DatabasesService {
  constructor(private readonly databases: DatabaseRepository) {}

  async list(caller: Principal, { limit, cursor }: PageQuery): Promise<Page<DatabaseView>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.databases.list(caller.accountId, limit + 1, before);
    return Page.of(rows, limit, ({ database }) => [database.id]).map(databaseView);
  }
}
