import { Global, Module } from '@nestjs/common';
import { Redis } from './redis.js';
import { WakeUps } from './wake-ups.js';

@Global()
@Module({ providers: [Redis, WakeUps], exports: [Redis, WakeUps] })
export class RedisModule {}
