import { Injectable } from '@nestjs/common';
import { Config } from '../../../../config/config.js';
import { OperationSlots } from '../../../../platform/operations/operation-slots.js';

/** Backups and restores share the disk and the processors with the services, so a worker makes few of them at a time. */
@Injectable()
export class BackupSlots extends OperationSlots {
  constructor(config: Config) {
    super(config.backupConcurrency);
  }
}
