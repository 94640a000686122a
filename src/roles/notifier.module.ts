import { Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { createNotifier } from '../drivers/notifier/notifier.factory.js';
import { Notifier } from '../drivers/notifier/notifier.js';

/** The way to the chat platform, for the worker. */
@Global()
@Module({
  providers: [
    {
      provide: Notifier,
      inject: [Config],
      useFactory: (config: Config) => createNotifier({ url: config.chatApiUrl, token: config.chatBotToken }),
    },
  ],
  exports: [Notifier],
})
export class NotifierModule {}
