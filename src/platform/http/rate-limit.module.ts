import { Module } from '@nestjs/common';
import { SlidingLogStorage } from './rate-limit.storage.js';

/** The log that all limits of a process are counted in. */
@Module({ providers: [SlidingLogStorage], exports: [SlidingLogStorage] })
export class RateLimitStorageModule {}
