import { setTimeout as delay } from 'node:timers/promises';
import { Engine, EngineError } from '../../drivers/engine/engine.js';
import {
  AGENT_VERSION,
  type InstanceEnd,
  type NodeReportAnswer,
} from '../../platform/internal-api/internal-api.contract.js';
import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { Interruptions } from './interruptions.js';
import { lastLines } from './last-lines.js';
import { UsageSampler } from './usage-sampler.js';

const REPORT_EVERY_MS = 5000;
/** Containers of services; nobody asks how others ended. */
const SERVICE = /^srv-/;
const MACHINE = /^lxc-/;
/** An engine that is going down takes about as long to note that it was not the instance itself that ended. */
const SETTLED_MS = 2000;

/**
 * Tells the control plane what becomes of the programs on this node: at once when the engine says that one has ended, and
 * every few seconds as a whole, so that an event lost on the way is made good.
 */
export class EngineWatcher {
  private readonly abort = new AbortController();
  private readonly sampler: UsageSampler;
  private readonly interruptions = new Interruptions();
  private timer: NodeJS.Timeout | undefined;
  private reporting: Promise<void> = Promise.resolve();
  private away = false;

  constructor(
    private readonly engine: Engine,
    private readonly api: InternalApiClient,
    private readonly log: AppLogger,
    private readonly consoleUrl: string,
    private readonly onAnswer: (answer: NodeReportAnswer) => void,
    /** Whether what is started here is behind this node's packet filter. */
    private readonly guarded: () => boolean,
  ) {
    this.sampler = new UsageSampler(engine);
  }

  start(): void {
    this.engine.watch(
      ({ instance, kind }) => {
        if (kind === 'stopped' && (SERVICE.test(instance) || MACHINE.test(instance)))
          this.inBackground(this.stopped(instance));
      },
      () => {
        this.interruptions.begin();
        this.reportSoon(0);
        void this.endStrays();
      },
      this.abort.signal,
    );
    this.reportSoon(0);
    this.sampler.start();
  }

  async stop(): Promise<void> {
    this.abort.abort();
    this.sampler.stop();
    clearTimeout(this.timer);
    await this.reporting;
  }

  private reportSoon(afterMs: number): void {
    clearTimeout(this.timer);
    if (this.abort.signal.aborted) return;
    this.timer = setTimeout(() => {
      this.reporting = this.report().finally(() => this.reportSoon(REPORT_EVERY_MS));
    }, afterMs);
  }

  private async report(): Promise<void> {
    try {
      const instances = await this.engine.listInstances();
      const running = instances.filter(({ name, state }) => state === 'running' && SERVICE.test(name));
      this.sampler.follow(running.map(({ name }) => name));
      const interrupted = this.interruptions.among(instances);
      const answer = await this.api.report({
        agentVersion: AGENT_VERSION,
        instances: instances.map(({ name, state }) => ({
          name,
          running: state !== 'stopped',
          ...(interrupted.has(name) && { interrupted: true, mayResume: interrupted.get(name)! && this.guarded() }),
        })),
        consoleUrl: this.consoleUrl,
      });
      this.onAnswer(answer);
      await Promise.all(answer.howEnded.map((name) => this.ended(name)));
      if (this.away) this.log.info('reports to the control plane go through again');
      this.away = false;
    } catch (error) {
      if (!this.away) this.log.warn({ err: error }, 'report to the control plane failed; the next one follows');
      this.away = true;
    }
  }

  /**
   * Looks into the container only if its end comes unasked for. LXD 5.0 makes a start wait for up to a minute when the files
   * of the stopped container began to be read just before it, and after an end that was asked for a start may be on its way.
   */
  private async stopped(name: string): Promise<void> {
    if (MACHINE.test(name) && (await this.wentDown(name))) return;
    const { howEnded } = await this.api.instanceStopped(name);
    if (howEnded) await this.ended(name);
  }

  /** Whether it was the engine that ended it, on its own way down. The reports tell of these when it is back. */
  private async wentDown(name: string): Promise<boolean> {
    await delay(SETTLED_MS);
    try {
      return (await this.engine.getInstance(name)).interrupted;
    } catch (error) {
      if (error instanceof EngineError && error.code === 'not_found') return false;
      throw error;
    }
  }

  private async ended(name: string): Promise<void> {
    // Taken before anything else: a restart begins a new console.
    const exit = await this.exitOf(name);
    const asShutDown = exit === null || exit.code === 0 || exit.signal === 'SIGTERM';
    if (asShutDown && (await this.wentDown(name))) return;
    const output = exit?.code === 0 ? null : await this.outputOf(name);
    const usage = this.sampler.last(name);
    await this.api.instanceEnded(name, { exit, output, usage: usage && { ...usage, at: usage.at.toISOString() } });
  }

  private async exitOf(name: string): Promise<InstanceEnd['exit']> {
    try {
      const exit = await this.engine.lastExit(name);
      return exit && { code: exit.code, signal: exit.signal, outOfMemory: exit.outOfMemory };
    } catch (error) {
      // Removed between its end and this look: its owner did that.
      if (error instanceof EngineError && error.code === 'not_found') return null;
      throw error;
    }
  }

  /** A crash is told with or without it. */
  private async outputOf(name: string): Promise<string[] | null> {
    try {
      return lastLines(await this.engine.consoleLog(name));
    } catch (error) {
      this.log.warn({ err: error, instance: name }, 'console of an ended program not read');
      return null;
    }
  }

  private async endStrays(): Promise<void> {
    try {
      const ended = await this.engine.endStrays();
      if (ended > 0) this.log.warn({ ended }, 'processes of an engine that was killed ended');
    } catch (error) {
      this.log.warn({ err: error }, 'processes that a killed engine may have left were not looked for');
    }
  }

  private inBackground(work: Promise<void>): void {
    work.catch((error: unknown) =>
      this.log.warn({ err: error }, 'end of a program not reported; the next report tells'),
    );
  }
}
