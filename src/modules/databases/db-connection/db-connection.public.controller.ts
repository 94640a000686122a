import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { DbConnectionRoutes } from './db-connection.routes.js';
import { DbConnectionService } from './db-connection.service.js';

@PublicApi('servers/:id/db-connection', 'databases')
export class DbConnectionPublicController extends DbConnectionRoutes {
  constructor(connections: DbConnectionService) {
    super(connections);
  }
}
