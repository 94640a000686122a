import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { LiveSession, SessionsAnswer } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';

const ASK_EVERY_MS = 2000;

/**
 * Who is connected to this node's services right now. The control plane is asked every two seconds who may not be any
 * longer: the key was revoked, the service deleted, the password changed.
 */
export class LiveSessions {
  private readonly watchers: ((servers: SessionsAnswer['servers']) => void)[] = [];
  private readonly open = new Map<string, { session: LiveSession; close: (reason: string) => void }>();
  private timer: NodeJS.Timeout | undefined;
  private asking: Promise<void> = Promise.resolve();
  private stopped = false;
  private away = false;

  constructor(
    private readonly api: InternalApiClient,
    private readonly log: AppLogger,
  ) {}

  /** `close` is called at most once, when the session must end. The answer is to be called when it has ended by itself. */
  add(session: LiveSession, close: (reason: string) => void): () => void {
    this.open.set(session.id, { session, close });
    if (this.open.size === 1) this.askSoon();
    return () => this.open.delete(session.id);
  }

  /** `watch` is told, as often as is asked, how the services stand that somebody is connected to. */
  watchServers(watch: (servers: SessionsAnswer['servers']) => void): void {
    this.watchers.push(watch);
  }

  /** How many sessions of a kind a service has. */
  count(serverId: string, kind: LiveSession['kind']): number {
    return [...this.open.values()].filter(({ session }) => session.serverId === serverId && session.kind === kind)
      .length;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.asking;
    for (const { close } of this.open.values()) close('the node goes down');
    this.open.clear();
  }

  private askSoon(): void {
    clearTimeout(this.timer);
    if (this.stopped || this.open.size === 0) return;
    this.timer = setTimeout(() => {
      this.asking = this.ask().finally(() => this.askSoon());
    }, ASK_EVERY_MS);
  }

  private async ask(): Promise<void> {
    try {
      const { close, servers } = await this.api.sessions([...this.open.values()].map(({ session }) => session));
      for (const watch of this.watchers) watch(servers);
      for (const { id, reason } of close) {
        const ended = this.open.get(id);
        this.open.delete(id);
        ended?.close(reason);
      }
      this.away = false;
    } catch (error) {
      if (!this.away) this.log.warn({ err: error }, 'cannot ask which sessions must end; trying again');
      this.away = true;
    }
  }
}
