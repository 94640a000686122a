import { EngineError, type Engine } from '../engine.js';

export type EngineMethod = Exclude<keyof Engine, 'watch' | 'close'>;

/** Faults to come, as a script: the next calls fail as it says, and the engine can be away for a while. */
export class SimulatorFaults {
  private readonly planned: { method: EngineMethod; remaining: number; error: Error }[] = [];
  private away = false;
  private watchers: { returned: () => void; left: () => void }[] = [];

  /** The `nth` call of `method` from now on (1 is the next) fails with `error`, once. */
  failCall(method: EngineMethod, nth: number, error: Error = new EngineError('failed', 'planned failure')): void {
    this.planned.push({ method, remaining: nth, error });
  }

  /** What was planned and has not come is not going to. */
  forgetPlan(): void {
    this.planned.length = 0;
  }

  /** From now on every call fails as if nothing listened. */
  goAway(): void {
    this.away = true;
    for (const { left } of this.watchers) left();
  }

  comeBack(): void {
    this.away = false;
    for (const { returned } of this.watchers) returned();
  }

  get isAway(): boolean {
    return this.away;
  }

  onChange(returned: () => void, left: () => void): () => void {
    const watcher = { returned, left };
    this.watchers.push(watcher);
    return () => (this.watchers = this.watchers.filter((other) => other !== watcher));
  }

  check(method: EngineMethod): void {
    if (this.away) throw new EngineError('unavailable', 'The simulated engine is away');
    for (const plan of this.planned) if (plan.method === method) plan.remaining--;
    const due = this.planned.findIndex(({ method: name, remaining }) => name === method && remaining <= 0);
    const [plan] = due >= 0 ? this.planned.splice(due, 1) : [];
    if (plan) throw plan.error;
  }
}
