import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { ScansService } from './scans/scans.service.js';
import { SeoRoutes } from './seo.routes.js';

@PanelApi('seo')
export class SeoPanelController extends SeoRoutes {
  constructor(scans: ScansService) {
    super(scans);
  }
}
