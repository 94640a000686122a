import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { NocodeRoutes } from './nocode.routes.js';
import { ProjectSaves } from './project-saves.service.js';
import { ProjectsService } from './projects.service.js';

@PanelApi('nocode')
export class NocodePanelController extends NocodeRoutes {
  constructor(projects: ProjectsService, saves: ProjectSaves) {
    super(projects, saves);
  }
}
