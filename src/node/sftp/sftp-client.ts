import { randomUUID } from 'node:crypto';
import type { Connection, ServerChannel } from 'ssh2';
import { EngineError } from '../../drivers/engine/engine.js';
import type { SftpLoginAnswer } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import type { ActivityReports } from '../activity/activity-reports.js';
import type { LiveSessions } from '../sessions/live-sessions.js';
import { FilesSession } from './files-session.js';
import type { SftpConnection } from './sftp-connection.js';
import type { Workshops } from './workshops.js';

const IDLE_MS = 10 * 60_000;
const SESSIONS_OF_SERVICE = 5;

export interface SftpParts {
  workshops: Workshops;
  sessions: LiveSessions;
  activity: ActivityReports;
  log: AppLogger;
}

/** Somebody who has logged in. All there is to be had is the SFTP subsystem, once. */
export class SftpClient {
  private idle: NodeJS.Timeout | undefined;
  private serving = false;

  constructor(
    private readonly ssh: Connection,
    private readonly connection: SftpConnection,
    private readonly visitor: SftpLoginAnswer,
    private readonly parts: SftpParts,
  ) {}

  serve(): void {
    const { sessions } = this.parts;
    const { serverId, accountId, credentialVersion } = this.visitor;
    if (sessions.count(serverId, 'sftp') >= SESSIONS_OF_SERVICE) {
      this.connection.finish();
      return;
    }
    const issuedAt = new Date().toISOString();
    const session = {
      id: randomUUID(),
      kind: 'sftp' as const,
      serverId,
      accountId,
      keyId: null,
      credentialVersion,
      issuedAt,
    };
    const ended = sessions.add(session, (reason) => {
      this.parts.log.info({ serverId, reason }, 'SFTP session ended');
      this.connection.finish();
    });
    this.connection.ended.addEventListener('abort', () => {
      clearTimeout(this.idle);
      ended();
    });
    this.moved();
    this.ssh.on('session', (accept) => {
      // What has no listener is refused: shells, commands, forwarding.
      accept().on('subsystem', (acceptSubsystem, reject, { name }) => {
        if (name !== 'sftp' || this.serving) return reject();
        this.serving = true;
        void this.files(acceptSubsystem());
      });
    });
  }

  private async files(channel: ServerChannel): Promise<void> {
    const { workshops, log } = this.parts;
    const { serverId, image } = this.visitor;
    // Errors of a channel that is gone already are of no use to anybody.
    channel.on('error', () => {});
    try {
      const { server, release } = await workshops.enter(serverId, image);
      for (const stream of [server.stdin, server.stdout, server.stderr]) stream.on('error', () => {});
      server.stderr.resume();
      const streams = { client: channel, stdin: server.stdin, stdout: server.stdout };
      try {
        await new FilesSession(
          streams,
          (done) => this.told(done),
          () => this.moved(),
        ).run(this.connection.ended);
      } finally {
        // Killing it takes the engine a while.
        server.stdin.destroy();
        await server.kill().catch(() => undefined);
        release();
      }
      channel.exit(0);
    } catch (error) {
      const expected = error instanceof EngineError ? 'warn' : 'debug';
      log[expected]({ err: error, serverId }, 'SFTP session failed');
      channel.exit(1);
    }
    channel.end();
  }

  private told({ event, path }: { event: string; path: string }): void {
    const { serverId } = this.visitor;
    this.parts.activity.add(serverId, { event, ip: this.connection.address, actor: { type: 'sftp', id: null } }, path);
  }

  private moved(): void {
    if (this.idle) this.idle.refresh();
    else this.idle = setTimeout(() => this.connection.finish(), IDLE_MS);
  }
}
