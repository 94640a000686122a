import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import WebSocket from 'ws';
import { BadConsoleToken, openConsoleToken, type OpenedGrant } from '../../platform/internal-api/console-token.js';
import { InternalApiRefusal, type InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { LiveSession, NodePower } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { truncate } from '../../platform/text/truncate.js';
import type { LiveSessions } from '../sessions/live-sessions.js';
import type { ConsoleHub } from './console-hub.js';
import { consoleLines } from './console-lines.js';
import type { ServiceConsole, Watcher } from './service-console.js';
import { ClientLimits } from './token-bucket.js';
import { frame, parseFrame } from './wings-frame.js';

export interface ClientParts {
  hub: ConsoleHub;
  api: InternalApiClient;
  sessions: LiveSessions;
  log: AppLogger;
  /** The key of this node's tokens, once the control plane has told it. */
  key: () => Uint8Array | null;
}

const EXPIRING_MS = 60_000;
const LOG_LINES = 150;
/** What a client is given to show a token. */
export const AUTH_MS = 10_000;
/** What a client is given to take the end of its connection. */
const CLOSE_MS = 2000;
/** A client that reads so much slower than is written misses lines, not memory. */
const MAX_BUFFERED = 4 * 1024 * 1024;
const COMMAND_SHOWN = 500;
const PERMISSION_OF = {
  start: 'control.start',
  stop: 'control.stop',
  restart: 'control.restart',
  kill: 'control.stop',
} as const;

/** One WebSocket of somebody at a console. */
export class ConsoleClient implements Watcher {
  private readonly id = randomUUID();
  private readonly limits = new ClientLimits();
  private grant: OpenedGrant | null = null;
  private console: ServiceConsole | null = null;
  private forget = () => {};
  private work: Promise<void> = Promise.resolve();
  private timers: NodeJS.Timeout[] = [];
  private skipped = 0;
  private complainedAt = -Infinity;

  constructor(
    private readonly socket: WebSocket,
    private readonly connection: Socket,
    private readonly serverUuid: string,
    private readonly address: string,
    private readonly parts: ClientParts,
    /** Takes one of the service's places for a client that has shown a token; false when there is none. */
    private readonly takePlace: () => boolean,
  ) {
    socket.on('message', (data, binary) => {
      if (!binary) this.take((data as Buffer).toString());
    });
    socket.on('close', () => this.gone());
    socket.on('error', () => socket.terminate());
    this.timers = [setTimeout(() => this.part(4401, 'no token was sent'), AUTH_MS)];
  }

  send(frames: readonly Buffer[]): void {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    if (this.isExpired()) return this.complain('jwt: exp claim is invalid');
    if (this.socket.bufferedAmount > MAX_BUFFERED) {
      this.skipped += frames.length;
      return;
    }
    this.connection.cork();
    if (this.skipped > 0)
      this.put(frame('daemon message', `${this.skipped} lines were skipped: the connection is slow.`));
    this.skipped = 0;
    for (const one of frames) this.put(one);
    this.connection.uncork();
  }

  private put(bytes: Buffer): void {
    this.socket.send(bytes, { binary: false });
  }

  private tell(event: string, ...args: string[]): void {
    if (this.socket.readyState === WebSocket.OPEN) this.put(frame(event, ...args));
  }

  /** Says why nothing else is said; once a second is enough. */
  private complain(why: string): void {
    if (performance.now() - this.complainedAt < 1000) return;
    this.complainedAt = performance.now();
    this.tell('jwt error', why);
  }

  private take(text: string): void {
    // Whoever was sent away may go on sending for as long as the end of the connection takes.
    if (this.socket.readyState !== WebSocket.OPEN) return;
    const given = parseFrame(text);
    const refusal = this.limits.refuses(given?.event ?? '');
    if (refusal) {
      if (refusal.notice !== null) this.tell('throttled', refusal.notice);
      return;
    }
    if (!given) return;
    this.work = this.work
      .then(() => this.handle(given.event, given.args[0] ?? ''))
      .catch((error: unknown) => {
        this.parts.log.warn({ err: error, event: given.event }, 'a frame of a console was not handled');
        this.tell('daemon error', 'The platform could not do this now.');
      });
  }

  private async handle(event: string, argument: string): Promise<void> {
    if (event === 'auth') return this.authenticate(argument);
    const { grant, console } = this;
    if (!grant || !console) return this.tell('jwt error', 'jwt: no jwt present');
    if (this.isExpired()) return this.tell('jwt error', 'jwt: exp claim is invalid');
    switch (event) {
      case 'send command':
        return this.command(grant, console, argument);
      case 'set state':
        return this.setState(grant, console, argument);
      case 'send logs':
        return this.send((await console.lines(LOG_LINES)).map((line) => frame('console output', line)));
      case 'send stats':
        return this.send([await console.statsFrame()]);
    }
  }

  private async authenticate(token: string): Promise<void> {
    const key = this.parts.key();
    if (!key) return this.tell('jwt error', 'jwt: this node cannot check tokens yet');
    let grant: OpenedGrant;
    try {
      grant = await openConsoleToken(key, token);
    } catch (error) {
      if (error instanceof BadConsoleToken) return this.tell('jwt error', error.message);
      throw error;
    }
    if (grant.serverUuid !== this.serverUuid) return this.tell('jwt error', 'jwt: the token is for another server');
    const session = sessionOf(this.id, grant);
    const { close, servers } = await this.parts.api.sessions([session]);
    if (close[0]) return this.end(close[0].reason);
    if (this.socket.readyState !== WebSocket.OPEN) return;
    const first = this.grant === null;
    if (first && !this.takePlace()) {
      this.tell('daemon error', 'Too many consoles of this service are open.');
      return this.part(4429, 'too many consoles of this service');
    }
    this.grant = grant;
    this.forget();
    this.forget = this.parts.sessions.add(session, (reason) => this.end(reason));
    this.remind(grant.expiresAt);
    if (!first) return this.tell('auth success');
    this.parts.hub.of(grant.serverId);
    this.parts.hub.controlPlaneSays(servers);
    await this.join(grant);
  }

  private async join(grant: OpenedGrant): Promise<void> {
    const console = this.parts.hub.of(grant.serverId);
    this.tell('auth success');
    await console.watch(this);
    this.console = console;
    if (this.socket.readyState !== WebSocket.OPEN) return console.leave(this);
    const state = console.state.current;
    this.tell('status', state);
    if (state === 'offline') this.send([await console.statsFrame()]);
    this.record('console.connect', {});
  }

  private async command(grant: OpenedGrant, console: ServiceConsole, text: string): Promise<void> {
    if (!grant.permissions.includes('control.console')) return this.tell('daemon error', 'This token only watches.');
    const lines = consoleLines(text);
    if (!(await console.write(lines))) return this.tell('daemon error', 'The service does not run.');
    if (grant.via === 'system') return this.tell('command sent');
    this.record('console.command', { command: truncate(text, COMMAND_SHOWN) });
  }

  private async setState(grant: OpenedGrant, console: ServiceConsole, signal: string): Promise<void> {
    if (!Object.hasOwn(PERMISSION_OF, signal)) return;
    const known = signal as NodePower['signal'];
    if (grant.via === 'system' || !grant.permissions.includes(PERMISSION_OF[known])) {
      return this.tell('daemon error', 'This token only watches.');
    }
    const { accountId, via, keyId, sessionGeneration } = grant;
    try {
      await this.parts.api.power(grant.serverId, {
        signal: known,
        accountId,
        ip: this.address,
        actor: { type: via, id: keyId },
        ...(sessionGeneration === null ? {} : { sessionGeneration }),
      });
    } catch (error) {
      if (!(error instanceof InternalApiRefusal) || error.status >= 500) throw error;
      return this.tell('daemon error', error.detail ?? 'The platform refused this.');
    }
    console.signalled(known);
  }

  private remind(expiresAt: number): void {
    for (const timer of this.timers) clearTimeout(timer);
    const at = (moment: number, event: string) => setTimeout(() => this.tell(event), Math.max(0, moment - Date.now()));
    this.timers = [at(expiresAt - EXPIRING_MS, 'token expiring'), at(expiresAt, 'token expired')];
  }

  private isExpired(): boolean {
    return this.grant !== null && this.grant.expiresAt <= Date.now();
  }

  private end(reason: string): void {
    if (reason === 'deleted') this.tell('deleted');
    else if (reason !== 'suspended') this.tell('jwt error', `jwt: the access has ended (${reason})`);
    if (reason === 'suspended') this.part(4409, 'server is suspended');
    else this.part(4401, reason);
  }

  private part(code: number, reason: string): void {
    this.socket.close(code, reason);
    // A client that does not answer the close is not waited for.
    setTimeout(() => this.socket.terminate(), CLOSE_MS).unref();
  }

  private gone(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.forget();
    this.console?.leave(this);
  }

  private record(what: string, properties: Record<string, unknown>): void {
    const { serverId, via, keyId } = this.grant!;
    if (via === 'system') return;
    const event = `${serverId.startsWith('lxc_') ? 'lxc' : 'server'}:${what}`;
    const entry = { event, properties, ip: this.address, actor: { type: via, id: keyId } };
    this.parts.api
      .activity(serverId, [entry])
      .catch((error: unknown) =>
        this.parts.log.warn({ err: error, serverId, event }, 'activity of a service was not told'),
      );
  }
}

function sessionOf(id: string, { serverId, accountId, keyId, sessionGeneration, issuedAt }: OpenedGrant): LiveSession {
  return {
    id,
    kind: 'console',
    serverId,
    accountId,
    keyId,
    ...(sessionGeneration === null ? {} : { sessionGeneration }),
    issuedAt: new Date(issuedAt).toISOString(),
  };
}
