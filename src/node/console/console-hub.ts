import type { Engine } from '../../drivers/engine/engine.js';
import type { SessionsAnswer } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { ServiceConsole } from './service-console.js';

const LINGER_MS = 60_000;

/** The consoles of this node that somebody watches. */
export class ConsoleHub {
  private readonly consoles = new Map<string, ServiceConsole>();
  /** By the name of the instance: ends of those that nobody watched any more. */
  private readonly closing = new Map<string, Promise<void>>();
  private readonly abort = new AbortController();

  constructor(
    private readonly engine: Engine,
    private readonly log: AppLogger,
    private readonly lingerMs = LINGER_MS,
  ) {}

  start(): void {
    this.engine.watch(
      ({ instance, kind, at }) => this.consoles.get(instance)?.engineSays(kind === 'started', at),
      () => {},
      this.abort.signal,
    );
  }

  async stop(): Promise<void> {
    this.abort.abort();
    await Promise.all([...this.closing.values(), ...[...this.consoles.values()].map((console) => console.close())]);
  }

  of(serverId: string): ServiceConsole {
    const name = serverId.replace('_', '-');
    let console = this.consoles.get(name);
    if (!console) {
      const before = this.closing.get(name) ?? Promise.resolve();
      console = new ServiceConsole(this.engine, name, this.log, this.lingerMs, before, (idle) => this.end(name, idle));
      this.consoles.set(name, console);
    }
    return console;
  }

  /** Whoever comes while its attachment ends gets the next one. */
  private end(name: string, console: ServiceConsole): void {
    if (this.consoles.get(name) !== console) return;
    this.consoles.delete(name);
    const ended = console.close().finally(() => {
      if (this.closing.get(name) === ended) this.closing.delete(name);
    });
    this.closing.set(name, ended);
  }

  controlPlaneSays(servers: SessionsAnswer['servers']): void {
    for (const { id, status, ram } of servers) this.consoles.get(id.replace('_', '-'))?.controlPlaneSays(status, ram);
  }
}
