import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { DatabasesRoutes } from './databases.routes.js';
import { DatabasesService } from './databases.service.js';
import { ExportReader } from './export.reader.js';
import { QueryReader } from './query.reader.js';

@PublicApi('databases')
export class DatabasesPublicController extends DatabasesRoutes {
  constructor(databases: DatabasesService, queries: QueryReader, exports: ExportReader) {
    super(databases, queries, exports);
  }
}
