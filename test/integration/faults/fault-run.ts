import type { INestApplicationContext } from '@nestjs/common';
import { LeftoversWorker } from '../../../src/modules/instances/leftovers.worker.js';
import { Operation } from '../../../src/platform/operations/operation.entity.js';
import { until } from '../../support/until.js';
import type { ServersApp } from '../servers/servers-app.js';
import { CallPlan, faultsOf, MortalEngine, type Fault, type FaultKind } from './mortal-engine.js';

/** How long the workers must have asked the engine nothing, for whatever is left to stand at its point. */
const QUIET_MS = 700;
/** The same where more is under way than stands: it waits for a turn that the dead hold, or is slow to write how it failed. */
const LONG_QUIET_MS = 1500;

/** One kind of change. */
export interface Change {
  name: string;
  /** Of the operation that carries it. */
  type: string;
  /** Makes one that the change can be asked of. Null when the change makes it: `ask` answers the id then. */
  prepare: (() => Promise<string>) | null;
  ask(id: string): Promise<unknown>;
}

/** One fault on one thing of its own; null where nothing is to go wrong. */
export interface Case<C extends Change> {
  change: C;
  fault: Fault | null;
  id: string;
}

export interface FaultRunOptions {
  app: ServersApp;
  kinds: readonly FaultKind[];
  /** How the plan of faults names what has this id. */
  engineName(id: string): string;
  /** One more worker, with that engine in the place of the real one. */
  startWorker(mortal: MortalEngine): Promise<INestApplicationContext>;
}

/**
 * Every call that an operation makes of the engine goes wrong in every way: all of them at once, each on a thing of its own.
 * The engine is simulated; workers that are killed at a real one have tests of their own.
 */
export class FaultRun<C extends Change> {
  private readonly plan = new CallPlan();
  /** What each change asks of the engine when nothing happens, and what comes of it. */
  readonly undisturbed = new Map<C, { calls: string[]; events: string[] }>();
  cases: Case<C>[] = [];
  private readonly events: string[] = [];
  private readonly watching = new AbortController();

  constructor(private readonly options: FaultRunOptions) {
    options.app.engine.watch(
      ({ instance, kind }) => this.events.push(`${instance} ${kind}`),
      () => {},
      this.watching.signal,
    );
  }

  /** Learns what the changes ask of the engine, then lets every one of these calls go wrong. */
  async run(changes: readonly C[]): Promise<void> {
    await this.worker();
    const pilots = await this.prepared(changes.map((change) => ({ change, fault: null })));
    // A worker that takes up what it did not see begin.
    await this.worker();
    await this.quiet(pilots.map(({ id }) => id));
    for (const { change, id } of pilots)
      this.undisturbed.set(change, {
        calls: this.plan.callsOf(this.options.engineName(id)),
        events: this.eventsOf(id),
      });
    this.cases = await this.prepared(
      changes.flatMap((change) => this.faultsOf(change).map((fault) => ({ change, fault }))),
    );
    await this.letThemDie();
    await this.quiet(this.cases.map(({ id }) => id));
  }

  stop(): void {
    this.watching.abort();
  }

  /** The faults that were not come to. */
  get ahead(): string[] {
    const names = new Set(this.plan.ahead);
    return this.cases
      .filter(({ id }) => names.has(this.options.engineName(id)))
      .map(({ change, fault }) => {
        const calls = this.undisturbed
          .get(change)!
          .calls.map((call, index) => (index + 1 === fault!.nth ? `>${call}<` : call));
        return `${change.name}, ${fault!.kind}: ${calls.join(' ')}`;
      });
  }

  faultsOf(change: C): Fault[] {
    return faultsOf(this.undisturbed.get(change)!.calls, this.options.kinds);
  }

  /** Waits for the end of all their operations. */
  async quiet(ids: string[]): Promise<void> {
    await until('the end of all operations', async () => {
      const open = await this.rows.find(Operation, { select: { resourceId: true, activeKey: true } });
      return open.every(({ resourceId, activeKey }) => activeKey === null || !ids.includes(resourceId));
    });
  }

  /** What the engine told of it since the change was asked for. */
  eventsOf(id: string): string[] {
    const name = this.options.engineName(id);
    return this.events.flatMap((event) => (event.startsWith(name) ? event.split(' ')[1]! : []));
  }

  private get rows() {
    return this.options.app.database.source.manager;
  }

  /** A worker that leaves to the operations what they leave behind. */
  private async worker(): Promise<MortalEngine> {
    const mortal = new MortalEngine(this.options.app.engine, this.plan);
    const context = await this.options.startWorker(mortal);
    jest.spyOn(context.get(LeftoversWorker), 'reconcile').mockResolvedValue();
    return mortal;
  }

  /** Things that were asked to change, with what goes wrong ahead of them, and no worker that has begun. */
  private async prepared(wanted: Omit<Case<C>, 'id'>[]): Promise<Case<C>[]> {
    const { app, engineName } = this.options;
    const ready = await Promise.all(
      wanted.map(async (one) => ({ ...one, id: one.change.prepare ? await one.change.prepare() : '' })),
    );
    await this.quiet(ready.map(({ id }) => id));
    await app.stopWorkers();
    await app.database.database.transaction(({ manager }) =>
      manager.query("DELETE FROM operations WHERE status NOT IN ('QUEUED', 'RUNNING')"),
    );
    for (const one of ready) {
      if (!one.change.prepare) one.id = (await one.change.ask('')) as string;
      this.plan.begin(engineName(one.id), one.fault ?? undefined);
      this.events.splice(
        0,
        this.events.length,
        ...this.events.filter((event) => !event.startsWith(engineName(one.id))),
      );
    }
    // Some of them answer only when the operation has ended.
    for (const { change, id } of ready) if (change.prepare) void change.ask(id).catch(() => undefined);
    await until(
      'all are asked for',
      async () => (await this.rows.countBy(Operation, { status: 'QUEUED' })) === ready.length,
    );
    return ready;
  }

  /** Lets worker after worker die where it stands, as others can come to their points only then. */
  private async letThemDie(): Promise<void> {
    for (;;) {
      const mortal = await this.worker();
      await until('it stands or nothing is left', async () => {
        if (this.plan.quietFor < QUIET_MS) return false;
        if (mortal.standing === 0) return (await this.unfinished()) === 0;
        return this.plan.quietFor >= LONG_QUIET_MS || (await this.running()) <= mortal.standing;
      });
      if (mortal.standing === 0) return;
      mortal.die();
      // What it holds is nobody's any more. It may just be writing to some of the rows.
      await this.options.app.database.database.transaction(({ manager }) =>
        manager.query(
          "UPDATE operations SET lease_owner = 'the dead', lease_until = '2000-01-01', due_at = UTC_TIMESTAMP(3) WHERE status = 'RUNNING'",
        ),
      );
      await this.options.app.stopWorkers();
    }
  }

  private unfinished(): Promise<number> {
    return this.rows.countBy(Operation, [{ status: 'QUEUED' }, { status: 'RUNNING' }]);
  }

  private running(): Promise<number> {
    return this.rows.countBy(Operation, { status: 'RUNNING' });
  }
}
