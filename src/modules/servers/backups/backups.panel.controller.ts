import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { BackupDownloads } from './backup-downloads.reader.js';
import { BackupsRoutes } from './backups.routes.js';
import { BackupsService } from './backups.service.js';

@PanelApi('servers/:id/backups', 'backups')
export class BackupsPanelController extends BackupsRoutes {
  constructor(backups: BackupsService, downloads: BackupDownloads) {
    super(backups, downloads);
  }
}
