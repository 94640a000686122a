export type WingsState = 'offline' | 'starting' | 'running' | 'stopping';

const STARTING = new Set(['INSTALLING', 'STARTING', 'REINSTALLING', 'RESTORING']);

/**
 * The state of a service in the words of the Wings protocol, from two sources: what the engine tells at once, and what the
 * control plane makes of it and tells every few seconds.
 */
export class ServiceState {
  private running: boolean | null = null;
  private status: string | null = null;

  engineSays(running: boolean): void {
    this.running = running;
    // A stop that was under way is over; whether this was a restart is for the control plane to say.
    if (this.status === 'STOPPING') this.status = null;
    if (!running && this.status === 'RUNNING') this.status = null;
  }

  controlPlaneSays(status: string): void {
    this.status = status;
  }

  /** A signal was accepted: what it leads to. */
  signalled(signal: string): void {
    if (signal === 'start') this.status = 'STARTING';
    else if (this.running) this.status = 'STOPPING';
  }

  get current(): WingsState {
    if (this.running) {
      if (this.status === 'STOPPING') return 'stopping';
      return this.status !== null && STARTING.has(this.status) ? 'starting' : 'running';
    }
    return this.status !== null && STARTING.has(this.status) ? 'starting' : 'offline';
  }
}
