import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { SchedulesRoutes } from './schedules.routes.js';
import { SchedulesService } from './schedules.service.js';

@PanelApi('servers/:id/schedules', 'schedules')
export class SchedulesPanelController extends SchedulesRoutes {
  constructor(schedules: SchedulesService) {
    super(schedules);
  }
}
