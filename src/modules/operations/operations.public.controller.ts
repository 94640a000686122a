import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { OperationsRoutes } from './operations.routes.js';

@PublicApi('operations')
export class OperationsPublicController extends OperationsRoutes {
  constructor(operations: OperationsService) {
    super(operations);
  }
}
