import { Module } from '@nestjs/common';
import { VaultAnchor } from './vault-anchor.service.js';
import { VaultErasure } from './vault-erasure.service.js';

/** What services need of the vault when they end. */
@Module({ providers: [VaultAnchor, VaultErasure], exports: [VaultAnchor, VaultErasure] })
export class VaultErasureModule {}
