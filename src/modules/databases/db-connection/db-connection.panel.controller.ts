import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { DbConnectionRoutes } from './db-connection.routes.js';
import { DbConnectionService } from './db-connection.service.js';

@PanelApi('servers/:id/db-connection', 'databases')
export class DbConnectionPanelController extends DbConnectionRoutes {
  constructor(connections: DbConnectionService) {
    super(connections);
  }
}
