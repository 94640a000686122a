import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { SnapshotsRoutes } from './snapshots.routes.js';
import { SnapshotsService } from './snapshots.service.js';

@PanelApi('lxc/:id/snapshots', 'lxc')
export class SnapshotsPanelController extends SnapshotsRoutes {
  constructor(snapshots: SnapshotsService) {
    super(snapshots);
  }
}
