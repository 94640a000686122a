import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import { RowSeal } from '../../../platform/crypto/row-seal.js';

/** Keeps the passwords for services' files. */
@Injectable()
export class PasswordSeal extends RowSeal {
  constructor(config: Config) {
    super(config, 'sftp-passwords');
  }
}
