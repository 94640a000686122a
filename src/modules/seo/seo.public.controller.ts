import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { ScansService } from './scans/scans.service.js';
import { SeoRoutes } from './seo.routes.js';

@PublicApi('seo')
export class SeoPublicController extends SeoRoutes {
  constructor(scans: ScansService) {
    super(scans);
  }
}
