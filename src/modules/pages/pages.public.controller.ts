import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { DeploymentsService } from './deployments/deployments.service.js';
import { SiteDeploys } from './lifecycle/site-deploys.js';
import { PagesRoutes } from './pages.routes.js';
import { SitesService } from './sites/sites.service.js';

@PublicApi('pages')
export class PagesPublicController extends PagesRoutes {
  constructor(sites: SitesService, deployments: DeploymentsService, deploys: SiteDeploys) {
    super(sites, deployments, deploys);
  }
}
