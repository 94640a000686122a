import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { SftpAccessService } from './sftp-access.service.js';
import { SftpRoutes } from './sftp.routes.js';

@PanelApi('servers/:id/settings/sftp', 'settings')
export class SftpPanelController extends SftpRoutes {
  constructor(access: SftpAccessService) {
    super(access);
  }
}
