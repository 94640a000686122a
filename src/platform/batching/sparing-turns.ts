import { setTimeout as delay } from 'node:timers/promises';

const LONGEST_PAUSE_MS = 1000;

/**
 * Does work that keeps this thread busy one piece after the other, with a pause after each that is so long that all of it takes
 * no more than a share of the time.
 */
export class SparingTurns {
  private before: Promise<unknown> = Promise.resolve();

  /** `share` of 1/4: a piece that took 50 ms is followed by 150 ms for others. */
  constructor(
    private readonly share: number,
    private readonly pause: (ms: number) => Promise<unknown> = (ms) => delay(ms, undefined, { ref: false }),
  ) {}

  take<T>(work: () => T): Promise<T> {
    let began = 0;
    const turn = this.before.then(() => {
      began = performance.now();
      return work();
    });
    const rest = () => this.pause(Math.min(LONGEST_PAUSE_MS, (performance.now() - began) * (1 / this.share - 1)));
    this.before = turn.then(rest, rest);
    return turn;
  }
}
