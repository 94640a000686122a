import { EngineError, type InstanceUsage, type ProgramExit } from '../engine.js';
import { dateOf, isMachine, STATE_DIRECTORY, stateOf, type InstanceRecord } from './instance-config.js';
import type { LxdContext } from './lxd-context.js';
import type { LxdFiles } from './lxd-files.js';

interface FullRecord extends InstanceRecord {
  state: {
    memory: { usage: number };
    cpu: { usage: number };
    network: Record<string, { counters: { bytes_received: number; bytes_sent: number } }> | null;
    disk: Record<string, { usage: number }> | null;
  } | null;
}

const CONSOLE_BYTES = 1024 * 1024;
const CONSOLE_FILE = `${STATE_DIRECTORY}/console.log`;
/** The record of an older run, where this one was killed before it could remove it; allows for coarse clocks. */
const STALE_MS = 2000;

/** What can be seen of an instance: usage, how its program ended, what it printed. */
export class LxdState {
  private readonly reading = new Map<string, Promise<string>>();

  constructor(
    private readonly context: LxdContext,
    private readonly files: LxdFiles,
  ) {}

  async instanceUsage(name: string): Promise<InstanceUsage> {
    const record = await this.context.transport.get<FullRecord>(path(name), { query: { recursion: '1' } });
    const state = stateOf(record.status);
    const counters = record.state?.network?.eth0?.counters;
    return {
      state,
      memoryBytes: record.state?.memory.usage ?? 0,
      cpuNanoseconds: state === 'stopped' ? 0 : Math.max(0, record.state?.cpu.usage ?? 0),
      rxBytes: counters?.bytes_received ?? 0,
      txBytes: counters?.bytes_sent ?? 0,
      startedAt: state === 'stopped' ? null : dateOf(record.last_used_at),
      rootBytes: record.state?.disk?.root?.usage ?? 0,
    };
  }

  async lastExit(name: string): Promise<ProgramExit | null> {
    const [record, exit] = await Promise.all([
      this.context.transport.get<InstanceRecord>(path(name)),
      this.exitRecord(name, 'exit.json'),
    ]);
    if (stateOf(record.status) === 'running' || exit === null) return null;
    const started = dateOf(record.last_used_at);
    return started && exit.at.getTime() < started.getTime() - STALE_MS ? null : exit;
  }

  async installExit(name: string): Promise<ProgramExit | null> {
    const exit = await this.exitRecord(name, 'install.json');
    if (exit === null) await this.context.transport.get(path(name));
    return exit;
  }

  /**
   * Reading a running instance's console buffer empties it, in every engine of this kind. So what was read is put into a
   * file beside the exit record, in the instance itself: whoever asks, in whatever process, gets the whole again.
   */
  consoleLog(name: string): Promise<string> {
    const pending = this.reading.get(name);
    if (pending) return pending;
    const reading = this.readConsole(name).finally(() => this.reading.delete(name));
    this.reading.set(name, reading);
    return reading;
  }

  private async readConsole(name: string): Promise<string> {
    const fresh = await this.takeConsole(name);
    // A file in a machine would be its root's to write, and ours to read: whatever stood in it, and however much.
    if (isMachine(await this.record(name))) return fresh.subarray(-CONSOLE_BYTES).toString().replaceAll('\0', '');
    const kept = await this.files.read(name, CONSOLE_FILE);
    // Some engines' file of a stopped instance begins with what was read while it ran, some go on after it.
    const repeated = kept !== null && fresh.subarray(0, kept.length).equals(kept);
    const all = Buffer.concat([kept === null || repeated ? Buffer.alloc(0) : kept, fresh]);
    const newest = all.subarray(-CONSOLE_BYTES);
    // A stopped instance's console is a file and stays.
    if (fresh.length > 0 && stateOf((await this.record(name)).status) === 'running') {
      const anew = kept === null || all.length > 2 * CONSOLE_BYTES;
      await this.keep(name, anew ? newest : fresh, anew);
    }
    // Zero bytes are those of the console's own probes.
    return newest.toString().replaceAll('\0', '');
  }

  private async takeConsole(name: string): Promise<Buffer> {
    try {
      const content = await this.context.transport.content(`${path(name)}/console`);
      if (content !== null) return content;
    } catch (error) {
      // An empty buffer, an instance that never ran, or more at once than the monitor can hand over.
      if (error instanceof EngineError && /no such file|message too long/i.test(error.message)) return Buffer.alloc(0);
      throw error;
    }
    await this.record(name);
    return Buffer.alloc(0);
  }

  private keep(name: string, content: Buffer, replace: boolean): Promise<void> {
    return this.files.write(name, CONSOLE_FILE, { type: 'file', mode: 0o600, content, append: !replace });
  }

  private async exitRecord(name: string, file: string): Promise<ProgramExit | null> {
    const content = await this.files.read(name, `${STATE_DIRECTORY}/${file}`);
    if (content === null) return null;
    const { phase, code, signal, outOfMemory, at } = JSON.parse(content.toString()) as Omit<ProgramExit, 'at'> & {
      at: string;
    };
    return { phase, code, signal, outOfMemory, at: new Date(at) };
  }

  private record(name: string): Promise<InstanceRecord> {
    return this.context.transport.get<InstanceRecord>(path(name));
  }
}

function path(name: string): string {
  return `/instances/${encodeURIComponent(name)}`;
}
