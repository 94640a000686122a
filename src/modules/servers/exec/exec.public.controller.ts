import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { ExecRoutes } from './exec.routes.js';
import { ExecService } from './exec.service.js';

@PublicApi('servers/:id/exec', 'exec')
export class ExecPublicController extends ExecRoutes {
  constructor(execs: ExecService) {
    super(execs);
  }
}
