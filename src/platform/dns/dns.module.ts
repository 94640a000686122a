import { Module } from '@nestjs/common';
import { DnsResolver } from './dns-resolver.js';

@Module({ providers: [DnsResolver], exports: [DnsResolver] })
export class DnsModule {}
