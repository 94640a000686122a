import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { NocodeRoutes } from './nocode.routes.js';
import { ProjectSaves } from './project-saves.service.js';
import { ProjectsService } from './projects.service.js';

@PublicApi('nocode')
export class NocodePublicController extends NocodeRoutes {
  constructor(projects: ProjectsService, saves: ProjectSaves) {
    super(projects, saves);
  }
}
