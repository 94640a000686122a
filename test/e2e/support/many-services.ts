import type { Api } from '../../support/api.js';
import { until } from '../../support/until.js';
import { createServer, reach, type Hosting, type Server } from './hosting.js';
import { Program } from './program.js';

/** Services that are under way together when something below them fails; nothing else may be asked of the platform. */
export class ManyServices {
  private servers: Server[] = [];

  constructor(
    private readonly hosting: Hosting,
    private readonly api: Api,
  ) {}

  get all(): readonly Server[] {
    return this.servers;
  }

  async make(count: number): Promise<Server[]> {
    const made = await Promise.all(Array.from({ length: count }, () => createServer(this.api)));
    this.servers.push(...made);
    return made;
  }

  /** Asks for so many more, and answers when some of these run and others do not yet. */
  async makeHalfway(count: number): Promise<Server[]> {
    const made = await this.make(count);
    await until(
      'the middle',
      async () => {
        const [row] = await this.hosting.rows<{ running: string | number }>(
          "SELECT COUNT(*) AS running FROM servers WHERE status = 'RUNNING' AND id IN (?)",
          [made.map(({ id }) => id)],
        );
        return Number(row!.running) >= 2;
      },
      60_000,
    );
    return made;
  }

  /** Asks for the end of all but the first `kept`. */
  async delete(kept = 0): Promise<void> {
    const ended = this.servers.splice(kept);
    await Promise.all(ended.map(async ({ id }) => (await this.api.delete(`/servers/${id}`)).expect(204)));
  }

  /** Every service runs, each program was started by one operation, and nothing is there twice or without an owner. */
  async expectAllRun(): Promise<void> {
    await this.hosting.untilQuiet();
    const columns = 'id, type, status, error_code';
    expect(await this.hosting.rows(`SELECT ${columns} FROM operations WHERE status <> 'DONE'`)).toEqual([]);
    await Promise.all(this.servers.map(({ id }) => reach(this.api, id, 'RUNNING')));
    await this.hosting.expectExactly(this.servers.map(({ id }) => id));
    await Promise.all(
      this.servers.map(async (server) => expect(await new Program(server).text(20_000)).toContain('Hello')),
    );
  }
}
