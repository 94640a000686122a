import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { DeploymentsService } from './deployments/deployments.service.js';
import { SiteDeploys } from './lifecycle/site-deploys.js';
import { PagesRoutes } from './pages.routes.js';
import { SitesService } from './sites/sites.service.js';

@PanelApi('pages')
export class PagesPanelController extends PagesRoutes {
  constructor(sites: SitesService, deployments: DeploymentsService, deploys: SiteDeploys) {
    super(sites, deployments, deploys);
  }
}
