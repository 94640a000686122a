import { Global, Module } from '@nestjs/common';
import { EventRecorder } from './event-recorder.js';

@Global()
@Module({ providers: [EventRecorder], exports: [EventRecorder] })
export class EventsModule {}
