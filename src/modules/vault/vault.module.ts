import { Module } from '@nestjs/common';
import { RateLimitStorageModule } from '../../platform/http/rate-limit.module.js';
import { NotificationsModule } from '../notifications/notifications.module.js';
import { ServerRowsModule } from '../servers/server-rows.module.js';
import { VaultKeys } from './keys/vault-keys.service.js';
import { KeyLists } from './reads/key-lists.service.js';
import { NodeReads } from './reads/node-reads.service.js';
import { ReadLogCleanerWorker } from './reads/read-log-cleaner.worker.js';
import { ReadLog } from './reads/read-log.service.js';
import { TokenReads } from './reads/token-reads.service.js';
import { SecretReminderWorker } from './reminders/secret-reminder.worker.js';
import { ConsultableSecrets } from './store/consultable-secrets.service.js';
import { LastReads } from './store/last-reads.service.js';
import { NameBudget } from './store/name-budget.service.js';
import { ScopeEditor } from './store/scope-editor.service.js';
import { ScopeLoader } from './store/scope-loader.service.js';
import { SecretsReader } from './store/secrets-reader.service.js';
import { VaultIncidents } from './store/vault-incidents.service.js';
import { VaultStore } from './store/vault-store.service.js';
import { AddressLock } from './tokens/address-lock.service.js';
import { TokenLookUp } from './tokens/token-look-up.service.js';
import { VaultTokens } from './tokens/vault-tokens.service.js';
import { VaultErasureModule } from './vault-erasure.module.js';
import { VaultService } from './vault.service.js';

/** Secrets as the API serves them. Needs a `KeyProvider`. */
@Module({
  imports: [ServerRowsModule, VaultErasureModule, RateLimitStorageModule],
  providers: [
    VaultKeys,
    VaultIncidents,
    ScopeLoader,
    ScopeEditor,
    SecretsReader,
    ConsultableSecrets,
    NameBudget,
    VaultStore,
    LastReads,
    KeyLists,
    ReadLog,
    AddressLock,
    TokenLookUp,
    VaultTokens,
    TokenReads,
    NodeReads,
    VaultService,
  ],
  exports: [VaultService, VaultTokens, TokenReads, NodeReads],
})
export class VaultModule {}

/** The worker's side: reminders, and the end of old records. */
@Module({
  imports: [ServerRowsModule, NotificationsModule],
  providers: [SecretReminderWorker, ReadLogCleanerWorker],
})
export class VaultWorkerModule {}
