import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { SchedulesRoutes } from './schedules.routes.js';
import { SchedulesService } from './schedules.service.js';

@PublicApi('servers/:id/schedules', 'schedules')
export class SchedulesPublicController extends SchedulesRoutes {
  constructor(schedules: SchedulesService) {
    super(schedules);
  }
}
