import { Engine, EngineError } from '../../../src/drivers/engine/engine.js';
import type { EngineMethod } from '../../../src/drivers/engine/simulator/simulator-faults.js';
import { engineName, ownerOf } from '../../../src/modules/servers/server.operations.js';

/** Calls that change nothing: whether they were answered makes no difference to what is there. */
const READS: readonly string[] = [
  'getInstance',
  'getVolume',
  'listInstances',
  'listVolumes',
  'listSnapshots',
  'instanceUsage',
  'volumeUsage',
  'installExit',
  'lastExit',
  'consoleLog',
];
/** A start is tried three times within its step, and a step three times. */
const TRIES = (method: string): number => (method === 'startInstance' ? 9 : 3);

/**
 * `away`: the engine is not there. `unheard`: it does it and is gone before it says so. `broken`: it cannot, however often it
 * is asked. `dies before` and `dies after`: the worker is no more, before the engine has done it or after.
 */
export type FaultKind = 'away' | 'unheard' | 'broken' | 'dies before' | 'dies after';

/** What becomes of one call about a thing. */
export interface Fault {
  /** Which of the calls about it, from 1; questions that are repeated until the next change count once. */
  nth: number;
  kind: FaultKind;
}

/** Every fault of these kinds that can come to an operation that makes these calls. */
export function faultsOf(calls: readonly string[], kinds: readonly FaultKind[]): Fault[] {
  return calls.flatMap((method, index) =>
    kinds
      .filter((kind) => !READS.includes(method) || (kind !== 'unheard' && kind !== 'dies after'))
      .map((kind) => ({ nth: index + 1, kind })),
  );
}

interface Plan extends Fault {
  method: string | null;
  left: number;
}

/** What calls were made about each instance, and which of those to come go wrong. Shared by all workers. */
export class CallPlan {
  private readonly calls = new Map<string, string[]>();
  private readonly plans = new Map<string, Plan>();
  private lastCall = Date.now();

  /** Calls about it from now on are counted from 1. */
  begin(name: string, fault?: Fault): void {
    this.calls.set(name, []);
    if (fault) this.plans.set(name, { ...fault, method: null, left: 0 });
  }

  callsOf(name: string): string[] {
    return this.calls.get(name) ?? [];
  }

  /** Milliseconds since anything was asked. */
  get quietFor(): number {
    return Date.now() - this.lastCall;
  }

  /** The faults that were not come to. */
  get ahead(): string[] {
    return [...this.plans].filter(([, { method }]) => method === null).map(([name]) => name);
  }

  /** Notes the call, and says what becomes of it. */
  next(subject: string, method: string): FaultKind | null {
    this.lastCall = Date.now();
    const name = thingOf(subject);
    const calls = this.calls.get(name);
    const plan = this.plans.get(name);
    const counts = calls !== undefined && !isRepeated(calls, method);
    if (counts) calls.push(method);
    if (!plan || !calls) return null;
    if (counts && plan.method === null && calls.length === plan.nth) {
      plan.method = method;
      plan.left = plan.kind === 'broken' ? TRIES(method) : 1;
    }
    if (plan.method !== method || plan.left === 0) return null;
    plan.left--;
    return plan.kind;
  }
}

/** Whether it asks once more what was asked since the last change: how often that is depends on how long things take. */
function isRepeated(calls: readonly string[], method: string): boolean {
  if (!READS.includes(method)) return false;
  const lastChange = calls.findLastIndex((call) => !READS.includes(call));
  return calls.includes(method, lastChange + 1);
}

/** What is made for a change to a service counts as the service itself. */
function thingOf(name: string): string {
  const owner = ownerOf(name);
  return owner ? engineName(owner.serverId) : name;
}

/** The engine as one worker sees it, which dies where the plan says so: from then on nothing of what it asks is done. */
export class MortalEngine {
  /** What stands in the worker's place of the engine. */
  readonly engine: Engine;
  private readonly held: ((error: Error) => void)[] = [];
  private dead = false;

  constructor(
    real: Engine,
    private readonly plan: CallPlan,
  ) {
    this.engine = new Proxy(real, {
      get: (target, property) => {
        const method = Reflect.get(target, property) as unknown;
        if (typeof method !== 'function') return method;
        const call = method.bind(target) as (...args: unknown[]) => unknown;
        if (property === 'watch' || property === 'close') return call;
        return (...args: unknown[]) => this.pass(property as EngineMethod, args[0], async () => call(...args));
      },
    });
  }

  /** How many calls wait for an end that only death is. */
  get standing(): number {
    return this.held.length;
  }

  die(): void {
    this.dead = true;
    for (const fail of this.held.splice(0)) fail(new EngineError('unavailable', 'dead'));
  }

  private async pass(method: EngineMethod, subject: unknown, work: () => Promise<unknown>): Promise<unknown> {
    if (this.dead) throw new EngineError('unavailable', 'dead');
    const name = typeof subject === 'string' ? subject : ((subject as { name?: string } | undefined)?.name ?? '');
    const kind = this.plan.next(name, method);
    if (kind === 'away') throw new EngineError('unavailable', 'planned absence');
    if (kind === 'broken') throw new EngineError('failed', 'planned failure');
    if (kind === 'dies before') return this.silence();
    const answer = await work();
    if (kind === 'unheard') throw new EngineError('unavailable', 'planned absence');
    return kind === 'dies after' ? this.silence() : answer;
  }

  private silence(): Promise<never> {
    return new Promise((_resolve, reject) => this.held.push(reject));
  }
}
