import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { AllocationsRoutes } from './allocations.routes.js';
import { AllocationsService } from './allocations.service.js';

@PanelApi('servers/:id/allocations', 'allocations')
export class AllocationsPanelController extends AllocationsRoutes {
  constructor(allocations: AllocationsService) {
    super(allocations);
  }
}
