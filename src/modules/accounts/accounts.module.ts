import { Module } from '@nestjs/common';
import { AccessService } from './access.service.js';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';
import { ChatAddressService } from './chat-address.service.js';
import { PlansService } from './plans.service.js';
import { QuotaLock } from './quota-lock.service.js';

@Module({
  providers: [AccessService, AccountsService, ChatAddressService, ApiKeysService, PlansService, QuotaLock],
  exports: [AccessService, AccountsService, ChatAddressService, ApiKeysService, PlansService, QuotaLock],
})
export class AccountsModule {}
