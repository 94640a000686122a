import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { DatabasesRoutes } from './databases.routes.js';
import { DatabasesService } from './databases.service.js';
import { ExportReader } from './export.reader.js';
import { QueryReader } from './query.reader.js';

@PanelApi('databases')
export class DatabasesPanelController extends DatabasesRoutes {
  constructor(databases: DatabasesService, queries: QueryReader, exports: ExportReader) {
    super(databases, queries, exports);
  }
}
