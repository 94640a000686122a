import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { ExecRoutes } from './exec.routes.js';
import { ExecService } from './exec.service.js';

@PanelApi('servers/:id/exec', 'exec')
export class ExecPanelController extends ExecRoutes {
  constructor(execs: ExecService) {
    super(execs);
  }
}
