import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { BackupDownloads } from './backup-downloads.reader.js';
import { BackupsRoutes } from './backups.routes.js';
import { BackupsService } from './backups.service.js';

@PublicApi('servers/:id/backups', 'backups')
export class BackupsPublicController extends BackupsRoutes {
  constructor(backups: BackupsService, downloads: BackupDownloads) {
    super(backups, downloads);
  }
}
