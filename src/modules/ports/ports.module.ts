import { Module } from '@nestjs/common';
import { PortLedger } from './port-ledger.service.js';

/** Public ports, whoever has them. */
@Module({ providers: [PortLedger], exports: [PortLedger] })
export class PortsModule {}
