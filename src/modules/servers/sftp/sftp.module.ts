import { Module } from '@nestjs/common';
import { ServerRowsModule } from '../server-rows.module.js';
import { LoginTries } from './login-tries.js';
import { PasswordSeal } from './password-seal.js';
import { SftpAccessService } from './sftp-access.service.js';
import { SftpCredentials } from './sftp-credentials.js';
import { SftpLoginService } from './sftp-login.service.js';

/** Access to services' files: the passwords, and who may log in. */
@Module({
  imports: [ServerRowsModule],
  providers: [PasswordSeal, SftpCredentials, LoginTries, SftpLoginService, SftpAccessService],
  exports: [SftpCredentials, SftpLoginService, SftpAccessService],
})
export class SftpModule {}
