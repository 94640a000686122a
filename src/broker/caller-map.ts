import { EngineError, type Engine, type EngineEvent, type EngineInstance } from '../drivers/engine/engine.js';
import type { AppLogger } from '../platform/observability/logger.js';
import type { Caller } from './caller.js';
import type { Subnet } from './subnet.js';

const READ_AGAIN_MS = 15_000;
/** Events of the moment in which the engine began to tell them may have been missed: what was read then is read once more. */
const CONFIRM_MS = 1000;
const RETRY_MS = 500;
const MAX_WAITING = 512;

/** Containers of services; others have no secrets. */
const SERVICE = /^srv_/;

interface Waiting {
  address: string;
  resolve: (caller: Caller | null) => void;
}

/**
 * Which service has which address on the app network right now. It follows the engine's events, so that a request costs
 * no call of the engine; what it knows is believed only while the events come in without a gap.
 *
 * Every look at the engine is older than the events told after it began: of an instance that started or stopped
 * meanwhile, the look tells nothing.
 */
export class CallerMap {
  /** Told of each run that is over. */
  onEnd: (caller: Caller) => void = () => {};
  private readonly byInstance = new Map<string, Caller>();
  private readonly byAddress = new Map<string, Caller[]>();
  /** Known from before a gap in the events, and not seen since. */
  private readonly doubted = new Set<Caller>();
  /** When, on the clock of `moment`, an instance's last event was told. */
  private readonly lastEvent = new Map<string, number>();
  private readonly waiting = new Set<Waiting>();
  private readonly abort = new AbortController();
  private moment = 0;
  private connection = 0;
  private following = false;
  private believed = false;
  private timer: NodeJS.Timeout | undefined;
  private due = 0;
  private reading: Promise<void> = Promise.resolve();
  private looks = 0;
  private complained = false;

  constructor(
    private readonly engine: Engine,
    private readonly subnet: Subnet,
    private readonly log: AppLogger,
  ) {}

  start(): void {
    this.engine.watch(
      (event) => this.told(event),
      () => this.connected(),
      this.abort.signal,
      () => this.broken(),
    );
  }

  async stop(): Promise<void> {
    this.abort.abort();
    this.broken();
    for (const caller of this.byInstance.values()) this.end(caller);
    await this.reading;
  }

  /** Whether it is known who is who; while it is not, nobody is anybody. */
  get knows(): boolean {
    return this.believed;
  }

  /** The one running service with this address. */
  at(address: string): Caller | null {
    if (!this.believed) return null;
    const callers = this.byAddress.get(address);
    return callers?.length === 1 ? callers[0]! : null;
  }

  /** Whether answers may still go out in its name. */
  holds(caller: Caller): boolean {
    return this.at(caller.address) === caller;
  }

  /** As `at`, but gives the news of a start that long to arrive: a program may call before the engine says that it runs. */
  async awaited(address: string, timeoutMs: number): Promise<Caller | null> {
    const known = this.at(address);
    if (known || !this.subnet.mayCall(address) || this.waiting.size >= MAX_WAITING) return known;
    return new Promise((resolve) => {
      const waiting: Waiting = {
        address,
        resolve: (caller) => {
          clearTimeout(timer);
          this.waiting.delete(waiting);
          resolve(caller);
        },
      };
      const timer = setTimeout(() => waiting.resolve(this.at(address)), timeoutMs);
      this.waiting.add(waiting);
    });
  }

  private connected(): void {
    this.connection++;
    this.following = true;
    this.readSoon(0);
  }

  private broken(): void {
    this.connection++;
    this.following = false;
    this.believed = false;
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const caller of this.byInstance.values()) this.doubted.add(caller);
  }

  private told({ instance, kind }: EngineEvent): void {
    this.lastEvent.set(instance, ++this.moment);
    if (kind === 'started') {
      void this.look(instance);
      return;
    }
    const ended = this.byInstance.get(instance);
    if (ended) this.end(ended);
  }

  private async look(instance: string): Promise<void> {
    const { connection, moment: begun } = this;
    this.looks++;
    try {
      const found = await this.engine.getInstance(instance);
      if (connection === this.connection) this.seen(found, begun);
    } catch (error) {
      if (error instanceof EngineError && error.code === 'not_found') return;
      if (connection === this.connection) this.readSoon(RETRY_MS);
    } finally {
      this.looks--;
    }
  }

  /** Never later than what was asked for before. */
  private readSoon(afterMs: number): void {
    const due = performance.now() + afterMs;
    if (this.abort.signal.aborted || (this.timer && this.due <= due)) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      // One at a time: a later one waits, and sees more.
      this.reading = this.reading.then(() => this.read());
    }, afterMs);
  }

  private async read(): Promise<void> {
    const { connection, moment: begun } = this;
    if (!this.following) return;
    try {
      const instances = await this.engine.listInstances();
      if (connection !== this.connection) return;
      const names = new Set(instances.map(({ name }) => name));
      for (const caller of this.byInstance.values()) {
        if (!names.has(caller.instance) && !this.newerThan(begun, caller.instance)) this.end(caller);
      }
      for (const instance of instances) this.seen(instance, begun);
      for (const caller of this.doubted) this.end(caller);
      this.forgetEvents(begun);
      this.readSoon(this.believed ? READ_AGAIN_MS : CONFIRM_MS);
      this.believed = true;
      for (const { address } of this.waiting) this.answerWaiting(address);
      if (this.complained) this.log.info('the engine tells again which service has which address');
      this.complained = false;
    } catch (error) {
      if (connection !== this.connection) return;
      if (!this.complained) this.log.warn({ err: error }, 'services cannot be looked up; trying again');
      this.complained = true;
      this.readSoon(RETRY_MS);
    }
  }

  private seen(instance: EngineInstance, begun: number): void {
    if (this.newerThan(begun, instance.name)) return;
    const { name, owner, address, state, startedAt } = instance;
    const before = this.byInstance.get(name);
    const runs = state === 'running' && owner !== null && SERVICE.test(owner) && address !== null && startedAt !== null;
    const same =
      runs && before?.serverId === owner && before.address === address && before.startedAt === startedAt.getTime();
    if (same) this.doubted.delete(before);
    if (same) return;
    if (before) this.end(before);
    if (!runs || !this.subnet.mayCall(address)) return;
    const caller = { serverId: owner, instance: name, address, startedAt: startedAt.getTime() };
    this.begin({ ...caller, ended: false, lastServed: null });
  }

  private newerThan(begun: number, instance: string): boolean {
    return (this.lastEvent.get(instance) ?? 0) > begun;
  }

  /** Those that no look under way is older than. */
  private forgetEvents(begun: number): void {
    if (this.looks > 0) return;
    for (const [instance, moment] of this.lastEvent) if (moment <= begun) this.lastEvent.delete(instance);
  }

  private begin(caller: Caller): void {
    this.byInstance.set(caller.instance, caller);
    const others = this.byAddress.get(caller.address) ?? [];
    this.byAddress.set(caller.address, [...others, caller]);
    if (others.length > 0) {
      this.log.error({ address: caller.address }, 'two running services have the same address: neither is served');
    }
    this.answerWaiting(caller.address);
  }

  private end(caller: Caller): void {
    caller.ended = true;
    this.doubted.delete(caller);
    this.byInstance.delete(caller.instance);
    const others = this.byAddress.get(caller.address)?.filter((other) => other !== caller) ?? [];
    if (others.length > 0) this.byAddress.set(caller.address, others);
    else this.byAddress.delete(caller.address);
    caller.lastServed?.release();
    caller.lastServed = null;
    this.onEnd(caller);
  }

  private answerWaiting(address: string): void {
    const caller = this.at(address);
    if (!caller) return;
    for (const waiting of this.waiting) if (waiting.address === address) waiting.resolve(caller);
  }
}
