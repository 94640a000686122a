import { setTimeout as delay } from 'node:timers/promises';
import type WebSocket from 'ws';
import { EngineError, type ConsoleAttachment, type ExecSession } from '../engine.js';
import { isMachine, stateOf, type InstanceRecord } from './instance-config.js';
import type { LxdContext } from './lxd-context.js';
import type { LxdEndpoint } from './lxd-endpoint.js';
import type { LxdExec } from './lxd-exec.js';
import type { LxdOperation } from './lxd-operations.js';
import { LineEnds } from './line-ends.js';
import { openStream, readableOf } from './lxd-socket.js';

/** Programs that care break their lines at this width. */
const WIDTH = 160;
const HEIGHT = 50;
/** What an engine that ends an attachment types into the console must not become part of the next line. */
const ERASE_LINE = '\x15';
const SETTLE_MS = 200;
const PROBE_MS = 5000;
const PROBE = `open my $console, '>', $ARGV[0] or die; for (1 .. 200) { syswrite $console, "\\0"; select undef, undef, undef, 0.03 }`;

/** The consoles of programs. */
export class LxdConsole {
  constructor(
    private readonly context: LxdContext,
    private readonly endpoint: LxdEndpoint,
    private readonly execs: LxdExec,
  ) {}

  async attach(name: string): Promise<ConsoleAttachment> {
    const path = `/instances/${encodeURIComponent(name)}`;
    const record = await this.context.transport.get<InstanceRecord>(path);
    if (stateOf(record.status) !== 'running') throw new EngineError('conflict', `${name} does not run`);
    const { metadata, operation } = await this.context.transport.call<LxdOperation>('POST', `${path}/console`, {
      body: { type: 'console', width: WIDTH, height: HEIGHT },
    });
    if (operation === null) throw new EngineError('failed', `POST ${path}/console: no operation was begun`);
    const fds = (metadata.metadata?.fds ?? {}) as Record<string, string>;
    // The engine ends the attachment together with the control stream.
    const control = await openStream(this.endpoint, operation, fds.control);
    let data: WebSocket;
    try {
      data = await openStream(this.endpoint, operation, fds['0']);
    } catch (error) {
      control.terminate();
      throw error;
    }
    control.resume();
    const raw = readableOf(data);
    const output = raw.pipe(new LineEnds());
    raw.once('error', () => output.end());
    const closed = new Promise<void>((resolve) => {
      data.once('close', resolve);
      raw.once('end', resolve);
    }).then(() => settle(data, control));
    const input = new ConsoleInput(data, () => this.probe(name, isMachine(record) ? '/dev/console' : '/proc/1/fd/1'));
    raw.once('data', () => input.ready());
    return { output, closed, write: (text) => input.write(text), close: () => data.terminate() };
  }

  /**
   * Has something go through the console that nobody sees, again and again until it is ended: once it arrives at our side,
   * the way to the program is open too.
   */
  private probe(name: string, terminal: string): Promise<ExecSession> {
    return this.execs.exec(name, {
      command: ['/usr/bin/perl', '-e', PROBE, terminal],
      user: 0,
      group: 0,
      cwd: '/',
      environment: {},
    });
  }
}

/** What is typed before the engine's end of the console is open would be lost, so it waits here. */
class ConsoleInput {
  private waiting: string[] | null = [];
  private probing = false;

  constructor(
    private readonly socket: WebSocket,
    private readonly probe: () => Promise<ExecSession>,
  ) {}

  write(text: string): void {
    if (!this.waiting) return this.put(text);
    this.waiting.push(text);
    if (!this.probing) void this.open();
  }

  ready(): void {
    const { waiting } = this;
    this.waiting = null;
    if (waiting) this.put(waiting.join(''), ERASE_LINE);
  }

  private async open(): Promise<void> {
    this.probing = true;
    const late = setTimeout(() => this.ready(), PROBE_MS).unref();
    try {
      const session = await this.probe();
      session.stdout.resume();
      session.stderr.resume();
      while (this.waiting && this.socket.readyState === this.socket.OPEN) await delay(5);
      await session.kill();
    } catch {
      // A container that is full or about to stop; the deadline opens the way.
    } finally {
      if (!this.waiting) clearTimeout(late);
    }
  }

  private put(text: string, before = ''): void {
    this.socket.send(Buffer.from(`${before}${text}`), { binary: true }, () => {});
  }
}

/**
 * In this order, and with a pause: an engine that is told by the control stream to end the attachment while it still writes
 * output to the other one panics, and with it everything it serves.
 */
async function settle(data: WebSocket, control: WebSocket): Promise<void> {
  data.terminate();
  await delay(SETTLE_MS);
  control.terminate();
}
