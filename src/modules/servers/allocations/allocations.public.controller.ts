import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { AllocationsRoutes } from './allocations.routes.js';
import { AllocationsService } from './allocations.service.js';

@PublicApi('servers/:id/allocations', 'allocations')
export class AllocationsPublicController extends AllocationsRoutes {
  constructor(allocations: AllocationsService) {
    super(allocations);
  }
}
