import { setTimeout as delay } from 'node:timers/promises';
import { StringDecoder } from 'node:string_decoder';
import { Engine, EngineError, type ConsoleAttachment } from '../../drivers/engine/engine.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { after, overlap } from './continuation.js';
import { History } from './history.js';
import { LineSplitter } from './line-splitter.js';
import { OutputThrottle } from './output-throttle.js';
import { ServiceState, type WingsState } from './service-state.js';
import { ServiceStats } from './service-stats.js';
import { frame } from './wings-frame.js';

/** Somebody who watches a console. */
export interface Watcher {
  send(frames: readonly Buffer[]): void;
}

/** Lines that come close together are sent together. */
const GATHER_MS = 5;
const STATS_EVERY_MS = 1000;
const AGAIN_MS = 1000;
const KNOWN = 512;

/** The console of one service: one attachment to the engine's, for everybody who watches. */
export class ServiceConsole {
  readonly state = new ServiceState();
  private readonly watchers = new Set<Watcher>();
  private readonly history = new History();
  private readonly throttle = new OutputThrottle();
  private readonly stats: ServiceStats;
  /** Watchers that are on their way in. */
  private entering = 0;
  private splitter = new LineSplitter();
  private attachment: ConsoleAttachment | null = null;
  private attachedAt = 0;
  private attaching: Promise<void> | null = null;
  /** End of what was taken in of the program's present run. */
  private known = '';
  /** Whether what the log has to tell is news to those who watch. */
  private announce = false;
  private shown: WingsState = 'offline';
  private gathered: Buffer[] = [];
  private gathering: NodeJS.Timeout | undefined;
  private ticking: NodeJS.Timeout | undefined;
  private lingering: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly engine: Engine,
    private readonly name: string,
    private readonly log: AppLogger,
    /** How long the engine's console stays attached when nobody watches any more. */
    private readonly lingerMs: number,
    /** End of the attachment of the console that was here before: the engine has one at a time. */
    private readonly before: Promise<void>,
    /** Nobody has watched for that long: it is to be given to nobody any more, and closed. */
    private readonly onIdle: (console: ServiceConsole) => void,
  ) {
    this.stats = new ServiceStats(engine, name);
  }

  /** From now on the watcher is told everything; `state` is current and the history whole when this resolves. */
  async watch(watcher: Watcher): Promise<void> {
    clearTimeout(this.lingering);
    this.entering++;
    await this.look();
    await this.attach();
    this.entering--;
    this.shown = this.state.current;
    this.watchers.add(watcher);
    this.ticking ??= setInterval(() => void this.tick(), STATS_EVERY_MS);
  }

  leave(watcher: Watcher): void {
    this.watchers.delete(watcher);
    if (this.watchers.size > 0) return;
    clearInterval(this.ticking);
    this.ticking = undefined;
    clearTimeout(this.lingering);
    if (this.entering > 0) return;
    this.lingering = setTimeout(() => this.onIdle(this), this.lingerMs).unref();
  }

  /** Ends the attachment. It has to be waited for: engines take an abrupt end ill. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.lingering);
    clearInterval(this.ticking);
    await this.attaching;
    const { attachment } = this;
    attachment?.close();
    await attachment?.closed;
  }

  async lines(count: number): Promise<string[]> {
    await this.attaching;
    return this.history.last(count);
  }

  /** Hands these lines to the program; false when it does not run. */
  async write(lines: readonly string[]): Promise<boolean> {
    if (this.state.current === 'offline') await this.look();
    if (this.state.current !== 'offline') await this.attach();
    // An attachment outlives its program by a moment, and its console by another.
    if (this.closed || !this.attachment || this.state.current === 'offline') return false;
    for (const line of lines) this.attachment.write(`${line}\n`);
    return true;
  }

  async statsFrame(): Promise<Buffer> {
    return frame('stats', JSON.stringify(await this.stats.read(this.state.current)));
  }

  /** The engine started or ended the program at that moment. */
  engineSays(running: boolean, at: Date): void {
    this.state.engineSays(running);
    if (running && !(this.attachment && this.attachedAt > at.getTime())) this.beginAnew();
    this.tell();
  }

  controlPlaneSays(status: string, ram: number): void {
    this.stats.memoryMb = ram;
    this.state.controlPlaneSays(status);
    this.tell();
  }

  signalled(signal: string): void {
    this.state.signalled(signal);
    this.tell();
  }

  private tell(): void {
    const now = this.state.current;
    if (now === this.shown || this.watchers.size === 0) return;
    this.shown = now;
    this.flush();
    this.broadcast([frame('status', now)]);
    if (now === 'offline') void this.tick(true);
  }

  private async look(): Promise<void> {
    try {
      this.state.engineSays((await this.engine.getInstance(this.name)).state === 'running');
    } catch (error) {
      if (isNotRunning(error)) this.state.engineSays(false);
      else this.log.warn({ err: error, instance: this.name }, 'the state of a program cannot be told');
    }
  }

  /** Another run of the program, with a console of its own. */
  private beginAnew(): void {
    this.attachment?.close();
    this.attachment = null;
    this.emit(this.splitter.end(), true);
    this.splitter = new LineSplitter();
    this.known = '';
    this.announce = this.watchers.size > 0;
    if (this.watchers.size > 0) void this.attach();
  }

  private attach(): Promise<void> {
    if (this.attachment || this.closed) return Promise.resolve();
    this.attaching ??= this.connect().finally(() => (this.attaching = null));
    return this.attaching;
  }

  private async connect(): Promise<void> {
    await this.before;
    if (this.closed) return;
    let attachment: ConsoleAttachment;
    try {
      attachment = await this.engine.attachConsole(this.name);
    } catch (error) {
      if (isNotRunning(error)) return;
      this.log.warn({ err: error, instance: this.name }, 'the console of a program cannot be attached; trying again');
      return this.later();
    }
    const decoder = new StringDecoder('utf8');
    let early: string | null = '';
    attachment.output.on('data', (bytes: Buffer) => {
      const text = decoder.write(bytes);
      if (early !== null) early += text;
      else if (this.attachment === attachment) this.take(text, true);
    });
    void attachment.closed.then(() => this.detached(attachment));
    this.attachment = attachment;
    this.attachedAt = Date.now();
    const before = early.length;
    const log = await this.engine.consoleLog(this.name).catch(() => '');
    const between: string = early;
    early = null;
    this.take(after(this.known, log), this.announce);
    this.take(between.slice(overlap(log, between, before)), true);
    this.announce = false;
  }

  private detached(attachment: ConsoleAttachment): void {
    if (this.attachment !== attachment) return;
    this.attachment = null;
    this.emit(this.splitter.end(), true);
    this.splitter = new LineSplitter();
    if (this.watchers.size === 0) return;
    this.announce = true;
    this.later();
  }

  /** The program has ended, and then the engine will say when it starts; or the engine was away. */
  private later(): void {
    void delay(AGAIN_MS, undefined, { ref: false }).then(async () => {
      if (this.watchers.size === 0 || this.closed) return;
      await this.look();
      this.tell();
      if (this.state.current !== 'offline') await this.attach();
    });
  }

  private take(text: string, live: boolean): void {
    if (text === '') return;
    this.known = (this.known + text).slice(-KNOWN);
    this.emit(this.splitter.pushText(text), live);
  }

  private emit(lines: string[], live: boolean): void {
    if (!live) return this.history.add(lines);
    const { allowed, notice } = this.throttle.pass(lines.length);
    const passed = allowed === lines.length ? lines : lines.slice(0, allowed);
    this.history.add(passed);
    if (this.watchers.size === 0) return;
    for (const line of passed) this.gathered.push(frame('console output', line));
    if (notice)
      this.gathered.push(frame('daemon message', 'The program prints faster than can be shown: lines are left out.'));
    if (this.gathered.length > 0) this.gathering ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  private flush(): void {
    clearTimeout(this.gathering);
    this.gathering = undefined;
    if (this.gathered.length === 0) return;
    const frames = this.gathered;
    this.gathered = [];
    this.broadcast(frames);
  }

  private broadcast(frames: readonly Buffer[]): void {
    for (const watcher of this.watchers) watcher.send(frames);
  }

  private async tick(last = false): Promise<void> {
    if (this.state.current === 'offline' && !last) return;
    try {
      this.broadcast([await this.statsFrame()]);
    } catch (error) {
      this.log.debug({ err: error, instance: this.name }, 'no figures of a program');
    }
  }
}

function isNotRunning(error: unknown): boolean {
  return error instanceof EngineError && (error.code === 'conflict' || error.code === 'not_found');
}
