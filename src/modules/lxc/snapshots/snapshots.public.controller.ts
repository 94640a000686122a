import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { SnapshotsRoutes } from './snapshots.routes.js';
import { SnapshotsService } from './snapshots.service.js';

@PublicApi('lxc/:id/snapshots', 'lxc')
export class SnapshotsPublicController extends SnapshotsRoutes {
  constructor(snapshots: SnapshotsService) {
    super(snapshots);
  }
}
