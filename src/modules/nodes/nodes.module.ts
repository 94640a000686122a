import { Module } from '@nestjs/common';
import { NodesService } from './nodes.service.js';

@Module({ providers: [NodesService], exports: [NodesService] })
export class NodesModule {}
