import type { Engine, InstanceUsage } from '../../drivers/engine/engine.js';
import type { WingsState } from './service-state.js';

const DISK_EVERY_MS = 10_000;

/**
 * What one service consumes, in the terms of the Wings protocol; without `disk_io`, which engines do not tell of containers.
 * Those who ask at once share one reading.
 */
export class ServiceStats {
  /** What the service may have. */
  memoryMb = 0;
  private reading: Promise<object> | null = null;
  private disk = { bytes: 0, at: -Infinity };
  private sample: { at: number; usage: InstanceUsage } | null = null;

  constructor(
    private readonly engine: Engine,
    private readonly name: string,
  ) {}

  read(state: WingsState): Promise<object> {
    this.reading ??= this.measure(state).finally(() => (this.reading = null));
    return this.reading;
  }

  private async measure(state: WingsState): Promise<object> {
    const [usage, disk] = await Promise.all([
      state === 'offline' ? null : this.engine.instanceUsage(this.name),
      this.diskBytes(),
    ]);
    const running = usage?.state === 'running' ? usage : null;
    return {
      memory_bytes: running?.memoryBytes ?? 0,
      memory_limit_bytes: this.memoryMb * 1024 * 1024,
      cpu_absolute: running ? this.cpu(running) : 0,
      network: { rx_bytes: running?.rxBytes ?? 0, tx_bytes: running?.txBytes ?? 0 },
      uptime: running?.startedAt ? Math.max(0, Date.now() - running.startedAt.getTime()) : 0,
      state,
      disk_bytes: disk,
    };
  }

  /** Percent of one core since the reading before, three decimals. */
  private cpu(usage: InstanceUsage): number {
    const at = performance.now();
    const before = this.sample;
    this.sample = { at, usage };
    if (before?.usage.startedAt?.getTime() !== usage.startedAt?.getTime()) return 0;
    const spent = usage.cpuNanoseconds - before!.usage.cpuNanoseconds;
    return Math.max(0, Math.round((spent / ((at - before!.at) * 1e6)) * 100_000) / 1000);
  }

  private async diskBytes(): Promise<number> {
    if (performance.now() - this.disk.at < DISK_EVERY_MS) return this.disk.bytes;
    const bytes = await this.readDisk().catch(() => this.disk.bytes);
    this.disk = { bytes, at: performance.now() };
    return bytes;
  }

  /** A service's data is on a volume of its own; all of a machine is on its root file system. */
  private async readDisk(): Promise<number> {
    if (!this.name.startsWith('lxc-')) return this.engine.volumeUsage(this.name);
    return (await this.engine.instanceUsage(this.name)).rootBytes;
  }
}
