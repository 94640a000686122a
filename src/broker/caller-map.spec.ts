import { fc } from '../../test/support/fast-check.js';
import type { Engine, EngineEvent, EngineInstance } from '../drivers/engine/engine.js';
import { createLogger } from '../platform/observability/logger.js';
import { CallerMap } from './caller-map.js';
import { Subnet } from './subnet.js';

const SUBNET = new Subnet('10.9.0.1/24');
const ADDRESSES = ['10.9.0.2', '10.9.0.3'];
const NAMES = ['a', 'b', 'c'];

interface Run {
  name: string;
  address: string;
  startedAt: number;
  /** On the script's clock; null while it runs. */
  endedAt: number | null;
  /** When the map was told. */
  endToldAt: number | null;
}

interface Look {
  /** What it saw; undefined until it has looked. */
  saw?: EngineInstance[];
  answer: (saw: EngineInstance[]) => void;
  fail: () => void;
}

/**
 * An engine whose every delay is in the hands of the test: what happens, when a look sees it, when its answer arrives, and
 * when events arrive. Only their order is kept, as engines keep it, and an address is given on only when it is free.
 */
class ScriptedEngine {
  readonly runs: Run[] = [];
  looks: Look[] = [];
  clock = 1;
  connectedAt: number | null = null;
  private readonly current = new Map<string, Run>();
  private events: { event: EngineEvent; run: Run }[] = [];
  private watcher: { listener: (event: EngineEvent) => void; onConnect: () => void; onBreak: () => void } | undefined;

  readonly port = {
    watch: (listener: (event: EngineEvent) => void, onConnect: () => void, _: AbortSignal, onBreak: () => void) => {
      this.watcher = { listener, onConnect, onBreak };
    },
    listInstances: () => this.look(),
    getInstance: async (wanted: string) => (await this.look()).find(({ name }) => name === wanted)!,
  } as unknown as Engine;

  start(name: string, address: string): void {
    const taken = [...this.current.values()].some((run) => run.address === address && run.endedAt === null);
    if (taken || this.current.get(name)?.endedAt === null) return;
    const run = { name, address, startedAt: ++this.clock, endedAt: null, endToldAt: null };
    this.runs.push(run);
    this.current.set(name, run);
    this.tell('started', run);
  }

  stop(name: string): void {
    const run = this.current.get(name);
    if (run?.endedAt !== null) return;
    run.endedAt = ++this.clock;
    this.tell('stopped', run);
  }

  delete(name: string): void {
    this.stop(name);
    this.current.delete(name);
  }

  deliver(): void {
    const next = this.events.shift();
    if (!next) return;
    if (next.event.kind === 'stopped') next.run.endToldAt = ++this.clock;
    this.watcher!.listener(next.event);
  }

  see(index: number): void {
    const look = this.looks.filter(({ saw }) => saw === undefined)[index];
    if (look) look.saw = [...this.current.values()].map(instanceOf);
  }

  async answer(index: number): Promise<void> {
    const look = this.looks.filter(({ saw }) => saw !== undefined)[index];
    if (!look) return;
    this.looks = this.looks.filter((other) => other !== look);
    look.answer(look.saw!);
    await settle();
  }

  async fail(index: number): Promise<void> {
    const [look] = this.looks.splice(index, 1);
    look?.fail();
    await settle();
  }

  break(): void {
    if (this.connectedAt === null) return;
    this.connectedAt = null;
    this.events = [];
    this.watcher!.onBreak();
  }

  connect(): void {
    if (this.connectedAt !== null) return;
    this.connectedAt = ++this.clock;
    this.watcher!.onConnect();
  }

  holderOf(address: string): Run | undefined {
    return [...this.current.values()].find((run) => run.address === address && run.endedAt === null);
  }

  private tell(kind: EngineEvent['kind'], run: Run): void {
    if (this.connectedAt !== null) this.events.push({ event: { instance: run.name, kind, at: new Date() }, run });
  }

  private look(): Promise<EngineInstance[]> {
    return new Promise((resolve, reject) => {
      this.looks.push({ answer: resolve, fail: () => reject(new Error('away')) });
    });
  }
}

function instanceOf({ name, address, startedAt, endedAt }: Run): EngineInstance {
  const state = endedAt === null ? ('running' as const) : ('stopped' as const);
  return { name, owner: `srv_${name}`, address, state, startedAt: new Date(startedAt) } as EngineInstance;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await Promise.resolve();
}

const log = createLogger({ logLevel: 'fatal' });

function mapOn(engine: ScriptedEngine): CallerMap {
  const map = new CallerMap(engine.port, SUBNET, log);
  map.start();
  return map;
}

/** Lets everything happen that is under way, until nothing is. */
async function calm(engine: ScriptedEngine): Promise<void> {
  engine.connect();
  for (let round = 0; round < 40; round++) {
    engine.deliver();
    await jest.advanceTimersByTimeAsync(20_000);
    while (engine.looks.length > 0) {
      engine.see(0);
      await engine.answer(0);
    }
  }
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

describe('who has which address', () => {
  const name = fc.constantFrom(...NAMES);
  const address = fc.constantFrom(...ADDRESSES);
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constant('start' as const), name, address) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('stop' as const), name) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('delete' as const), name) },
    { weight: 6, arbitrary: fc.tuple(fc.constant('deliver' as const)) },
    { weight: 5, arbitrary: fc.tuple(fc.constant('see' as const), fc.nat(2)) },
    { weight: 5, arbitrary: fc.tuple(fc.constant('answer' as const), fc.nat(2)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('fail' as const), fc.nat(2)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('time' as const), fc.constantFrom(0, 500, 1000, 15_000)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('break' as const)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('connect' as const)) },
  );

  async function take(engine: ScriptedEngine, [what, ...rest]: readonly [string, ...unknown[]]): Promise<void> {
    if (what === 'start') engine.start(rest[0] as string, rest[1] as string);
    else if (what === 'stop') engine.stop(rest[0] as string);
    else if (what === 'delete') engine.delete(rest[0] as string);
    else if (what === 'deliver') engine.deliver();
    else if (what === 'see') engine.see(rest[0] as number);
    else if (what === 'answer') await engine.answer(rest[0] as number);
    else if (what === 'fail') await engine.fail(rest[0] as number);
    else if (what === 'time') await jest.advanceTimersByTimeAsync(rest[0] as number);
    else if (what === 'break') engine.break();
    else engine.connect();
    await settle();
  }

  /** A run is nobody once its end was told, or when it ended before the events began to be followed. */
  function check(map: CallerMap, engine: ScriptedEngine): void {
    for (const one of ADDRESSES) {
      const caller = map.at(one);
      if (caller === null) continue;
      expect(engine.connectedAt).not.toBeNull();
      expect(caller.ended).toBe(false);
      const run = engine.runs.find(({ startedAt }) => startedAt === caller.startedAt)!;
      expect(caller).toMatchObject({ serverId: `srv_${run.name}`, instance: run.name, address: run.address });
      expect(run.address).toBe(one);
      expect(run.endToldAt).toBeNull();
      if (run.endedAt !== null) expect(run.endedAt).toBeGreaterThan(engine.connectedAt!);
    }
  }

  test('whatever happens in whatever order, an address is never that of a run known to be over, and in the end the right one', async () => {
    let known = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
        const engine = new ScriptedEngine();
        const map = mapOn(engine);
        engine.connect();
        for (const first of [['time', 0] as const, ['see', 0] as const, ['answer', 0] as const])
          await take(engine, first);
        for (const one of steps) {
          await take(engine, one);
          check(map, engine);
          if (ADDRESSES.some((one) => map.at(one))) known++;
        }
        await calm(engine);
        check(map, engine);
        for (const one of ADDRESSES) {
          const holder = engine.holderOf(one);
          expect(map.at(one)?.startedAt ?? null).toBe(holder?.startedAt ?? null);
        }
        await map.stop();
        expect(ADDRESSES.map((one) => map.at(one))).toEqual([null, null]);
      }),
      { numRuns: 1500 },
    );
    // Not all of them were about an empty map.
    expect(known).toBeGreaterThan(100);
  }, 120_000);

  test.each(['is told meanwhile', 'is missed meanwhile'])(
    'what a late answer saw is not believed when the end %s',
    async (how) => {
      const engine = new ScriptedEngine();
      const map = mapOn(engine);
      engine.connect();
      await calm(engine);
      engine.start('a', ADDRESSES[0]!);
      engine.deliver();
      engine.see(0);
      const late = engine.looks.splice(0);
      if (how === 'is missed meanwhile') engine.break();
      engine.stop('a');
      engine.deliver();
      await calm(engine);
      for (const { answer, saw } of late) answer(saw!);
      await settle();
      expect(map.at(ADDRESSES[0]!)).toBeNull();
      engine.start('b', ADDRESSES[0]!);
      await calm(engine);
      expect(map.at(ADDRESSES[0]!)?.serverId).toBe('srv_b');
      await map.stop();
    },
  );

  test('a run that ended in a gap is not believed when its instance starts again while that is made good', async () => {
    const engine = new ScriptedEngine();
    const map = mapOn(engine);
    engine.connect();
    engine.start('a', ADDRESSES[0]!);
    await calm(engine);
    engine.break();
    engine.stop('a');
    engine.connect();
    engine.start('a', ADDRESSES[0]!);
    await jest.advanceTimersByTimeAsync(0);
    engine.see(0);
    engine.deliver();
    await engine.answer(0);
    expect(map.knows).toBe(true);
    expect(map.at(ADDRESSES[0]!)).toBeNull();
    engine.see(0);
    await engine.answer(0);
    expect(map.at(ADDRESSES[0]!)?.startedAt).toBe(engine.holderOf(ADDRESSES[0]!)!.startedAt);
    await map.stop();
  });

  test('a start that could not be looked up is looked up again soon, also when a look at all was under way', async () => {
    const engine = new ScriptedEngine();
    const map = mapOn(engine);
    engine.connect();
    await calm(engine);
    await jest.advanceTimersByTimeAsync(15_000);
    engine.see(0);
    engine.start('a', ADDRESSES[0]!);
    engine.deliver();
    await engine.fail(1);
    await engine.answer(0);
    expect(map.at(ADDRESSES[0]!)).toBeNull();
    await jest.advanceTimersByTimeAsync(1000);
    engine.see(0);
    await engine.answer(0);
    expect(map.at(ADDRESSES[0]!)?.serverId).toBe('srv_a');
    await map.stop();
  });

  test('two running services with one address are both nobody, until one has gone', async () => {
    const engine = new ScriptedEngine();
    const map = mapOn(engine);
    engine.connect();
    engine.start('a', ADDRESSES[0]!);
    await calm(engine);
    const other = { name: 'b', address: ADDRESSES[0]!, startedAt: 99, endedAt: null, endToldAt: null };
    const listed = [...engine.runs, other].map(instanceOf);
    await jest.advanceTimersByTimeAsync(15_000);
    engine.looks.splice(0).forEach(({ answer }) => answer(listed));
    await settle();
    expect(map.at(ADDRESSES[0]!)).toBeNull();
    await calm(engine);
    expect(map.at(ADDRESSES[0]!)?.serverId).toBe('srv_a');
    await map.stop();
  });

  test('what is no service, has no start or an address from elsewhere is nobody', async () => {
    const engine = new ScriptedEngine();
    const map = mapOn(engine);
    engine.connect();
    await jest.advanceTimersByTimeAsync(0);
    const good = instanceOf({ name: 'a', address: '10.9.0.2', startedAt: 5, endedAt: null, endToldAt: null });
    const listed = [
      good,
      { ...good, name: 'm', owner: 'lxc_m', address: '10.9.0.3' },
      { ...good, name: 'n', owner: null, address: '10.9.0.4' },
      { ...good, name: 'o', startedAt: null, address: '10.9.0.5' },
      { ...good, name: 'p', state: 'other' as const, address: '10.9.0.6' },
      { ...good, name: 'q', address: '10.10.0.7' },
      { ...good, name: 'r', address: '10.9.0.1' },
    ];
    engine.looks.splice(0).forEach(({ answer }) => answer(listed));
    await settle();
    expect(map.at('10.9.0.2')?.serverId).toBe('srv_a');
    for (const one of listed.slice(1)) expect(map.at(one.address!)).toBeNull();
    await map.stop();
  });
});

describe('a call that is ahead of the news', () => {
  test('is answered when the news arrives, and refused when none does', async () => {
    const engine = new ScriptedEngine();
    const map = mapOn(engine);
    engine.connect();
    await calm(engine);
    const early = map.awaited(ADDRESSES[0]!, 1000);
    const never = map.awaited(ADDRESSES[1]!, 1000);
    engine.start('a', ADDRESSES[0]!);
    engine.deliver();
    engine.see(0);
    await engine.answer(0);
    expect((await early)?.serverId).toBe('srv_a');
    await jest.advanceTimersByTimeAsync(1000);
    expect(await never).toBeNull();
    await map.stop();
  });

  test('is not waited for from addresses that no program has', async () => {
    const map = mapOn(new ScriptedEngine());
    for (const address of ['10.9.0.1', '10.10.0.2', '127.0.0.1', '::1', 'fe80::1', '']) {
      expect(await map.awaited(address, 60_000)).toBeNull();
    }
    await map.stop();
  });
});

test('what a run was served is wiped from memory when it ends, and kept over a gap in the events', async () => {
  const engine = new ScriptedEngine();
  const map = mapOn(engine);
  const ended: string[] = [];
  map.onEnd = ({ serverId }) => ended.push(serverId);
  engine.connect();
  engine.start('a', ADDRESSES[0]!);
  await calm(engine);
  let released = 0;
  const caller = map.at(ADDRESSES[0]!)!;
  caller.lastServed = { release: () => released++ } as never;
  engine.break();
  expect(map.at(ADDRESSES[0]!)).toBeNull();
  expect(map.knows).toBe(false);
  await calm(engine);
  expect(map.at(ADDRESSES[0]!)).toBe(caller);
  expect(released).toBe(0);
  engine.break();
  engine.stop('a');
  engine.start('a', ADDRESSES[0]!);
  await calm(engine);
  expect(map.at(ADDRESSES[0]!)).toMatchObject({ serverId: 'srv_a', lastServed: null });
  expect(map.at(ADDRESSES[0]!)).not.toBe(caller);
  expect([released, ended, caller.ended]).toEqual([1, ['srv_a'], true]);
  await map.stop();
});
