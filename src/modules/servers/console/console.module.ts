import { Module } from '@nestjs/common';
import { TaskConsole } from '../schedules/task-ports.js';
import { ServerRowsModule } from '../server-rows.module.js';
import { ConsoleCommands } from './console-commands.service.js';
import { ConsoleHolders } from './console-holders.service.js';
import { ConsoleService } from './console.service.js';
import { ConsoleTokens } from './console-tokens.service.js';
import { LiveSessionsService } from './live-sessions.service.js';

/** Consoles of services: who may open them, and the platform's own commands. */
@Module({
  imports: [ServerRowsModule],
  providers: [
    ConsoleTokens,
    ConsoleService,
    LiveSessionsService,
    ConsoleHolders,
    ConsoleCommands,
    { provide: TaskConsole, useExisting: ConsoleCommands },
  ],
  exports: [ConsoleTokens, ConsoleService, LiveSessionsService, ConsoleHolders, ConsoleCommands, TaskConsole],
})
export class ConsoleModule {}
