import type { LastServed } from './last-served.js';

/** One run of a service's container on this node, as the engine tells of it. A restart is another caller. */
export interface Caller {
  readonly serverId: string;
  readonly instance: string;
  /** Its address on the app network. */
  readonly address: string;
  /** Milliseconds; what tells this run from the next of the same container. */
  readonly startedAt: number;
  /** Whether the run is over: nothing is answered in its name any more. */
  ended: boolean;
  /** What it was given last, for when the control plane is away. */
  lastServed: LastServed | null;
}
