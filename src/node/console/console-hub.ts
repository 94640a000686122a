import type { Engine } from '../../drivers/engine/engine.js';
import type { SessionsAnswer } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { ServiceConsole } from './service-console.js';

/** The consoles of this node that somebody watches. */
export class ConsoleHub {
  private readonly consoles = new Map<string, ServiceConsole>();
  private readonly abort = new AbortController();

  constructor(
    private readonly engine: Engine,
    private readonly log: AppLogger,
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
    await Promise.all([...this.consoles.values()].map((console) => console.close()));
  }

  of(serverId: string): ServiceConsole {
    const name = serverId.replace('_', '-');
    let console = this.consoles.get(name);
    if (!console) {
      console = new ServiceConsole(this.engine, name, this.log, () => this.consoles.delete(name));
      this.consoles.set(name, console);
    }
    return console;
  }

  controlPlaneSays(servers: SessionsAnswer['servers']): void {
    for (const { id, status, ram } of servers) this.consoles.get(id.replace('_', '-'))?.controlPlaneSays(status, ram);
  }
}
