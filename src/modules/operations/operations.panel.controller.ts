import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { OperationsRoutes } from './operations.routes.js';

@PanelApi('operations')
export class OperationsPanelController extends OperationsRoutes {
  constructor(operations: OperationsService) {
    super(operations);
  }
}
