import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { SftpAccessService } from './sftp-access.service.js';
import { SftpRoutes } from './sftp.routes.js';

@PublicApi('servers/:id/settings/sftp', 'settings')
export class SftpPublicController extends SftpRoutes {
  constructor(access: SftpAccessService) {
    super(access);
  }
}
