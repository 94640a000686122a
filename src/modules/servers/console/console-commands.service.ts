import { Injectable } from '@nestjs/common';
import WebSocket from 'ws';
import { conflict, DomainError, unavailable } from '../../../platform/errors/domain-error.js';
import { ACTING } from '../../../platform/internal-api/console-token.js';
import { TaskConsole } from '../schedules/task-ports.js';
import { ServerRepository } from '../server.repository.js';
import { ConsoleService } from './console.service.js';
import { ConsoleTokens } from './console-tokens.service.js';

const PATIENCE_MS = 10_000;
/** What a terminal takes as one line. */
const MAX_BYTES = 4000;

/** Tells the program of a service something, on the platform's own behalf: as a client of the console on the node. */
@Injectable()
export class ConsoleCommands extends TaskConsole {
  constructor(
    private readonly servers: ServerRepository,
    private readonly consoles: ConsoleService,
    private readonly tokens: ConsoleTokens,
  ) {
    super();
  }

  /** Resolves when the program was handed the line. */
  override async send(serverId: string, text: string): Promise<void> {
    if (Buffer.byteLength(text) > MAX_BYTES) {
      throw new DomainError('bad_request', 'command_too_long', `A command is at most ${MAX_BYTES} bytes long.`);
    }
    const server = await this.servers.require(serverId);
    const { token } = await this.tokens.sign(server.nodeId, {
      serverId,
      serverUuid: server.uuid,
      accountId: server.accountId,
      via: 'system',
      keyId: null,
      sessionGeneration: null,
      permissions: ACTING,
    });
    const socket = new WebSocket(await this.consoles.socketOf(server), {
      handshakeTimeout: PATIENCE_MS,
      // Nodes let in only so many at once who show no token yet, and schedules of all services fall due together.
      headers: { authorization: `Bearer ${token}` },
    });
    try {
      await deliver(socket, token, text);
    } finally {
      socket.terminate();
    }
  }
}

function deliver(socket: WebSocket, token: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const away = (cause?: unknown) => reject(unavailable('console', cause));
    const timer = setTimeout(away, PATIENCE_MS);
    const say = (event: string, argument: string) => socket.send(JSON.stringify({ event, args: [argument] }));
    socket.on('open', () => say('auth', token));
    socket.on('error', away);
    socket.on('close', () => {
      clearTimeout(timer);
      away();
    });
    socket.on('message', (data) => {
      const { event, args } = JSON.parse((data as Buffer).toString()) as { event: string; args?: string[] };
      switch (event) {
        case 'auth success':
          return say('send command', text);
        case 'command sent':
          return resolve();
        case 'daemon error':
          return reject(conflict('console_refused', args?.[0] ?? 'The console refused the command.'));
        case 'jwt error':
        case 'throttled':
          return away(new Error(`the console answered ${event}: ${args?.[0] ?? ''}`));
      }
    });
  });
}
