import {
  EngineError,
  type EngineEvent,
  type InstanceUsage,
  type MachineLimits,
  type MachineSpec,
  type PublishedPort,
} from '../engine.js';
import { SimulatedInstance } from './simulated-instance.js';
import type { SimulatorClock } from './simulator-clock.js';

const DISK_BYTES = 200 * 2 ** 20;

interface Kept {
  usedBytes: number;
  limits: MachineLimits;
  ports: PublishedPort[];
}

/** A simulated machine: an instance without a volume, whose program is its init, and what is kept of its disk. */
export class SimulatedMachine extends SimulatedInstance {
  usedBytes = DISK_BYTES;
  private readonly kept = new Map<string, Kept>();
  private limits: MachineLimits;

  constructor(machine: MachineSpec, clock: SimulatorClock, emit: (event: EngineEvent) => void) {
    const { network, limits, ...rest } = machine;
    const { address } = network;
    super(
      {
        ...rest,
        volume: '',
        limits: shownLimits(limits),
        rootDiskMb: limits.diskMb,
        network: { ...network, gateway: address },
        environment: {},
      },
      clock,
      emit,
    );
    this.limits = limits;
  }

  resize(limits: MachineLimits): void {
    if (this.usedBytes > limits.diskMb * 2 ** 20) throw new EngineError('conflict', 'The disk holds more than that');
    this.limits = limits;
    this.spec.limits = shownLimits(limits);
    this.spec.rootDiskMb = limits.diskMb;
  }

  takeSnapshot(name: string): void {
    if (this.kept.has(name)) throw new EngineError('exists', `Snapshot ${name} exists`);
    const { usedBytes, limits } = this;
    this.kept.set(name, structuredClone({ usedBytes, limits, ports: this.spec.ports }));
  }

  snapshotNames(): string[] {
    return [...this.kept.keys()];
  }

  restore(name: string): void {
    const kept = this.kept.get(name);
    if (!kept) throw new EngineError('not_found', `Snapshot ${name} not found`);
    if (this.running) throw new EngineError('conflict', `${this.spec.name} runs`);
    this.usedBytes = kept.usedBytes;
    this.resize(kept.limits);
    this.spec.ports = structuredClone(kept.ports);
  }

  forget(name: string): void {
    this.kept.delete(name);
  }

  override usage(): InstanceUsage {
    return { ...super.usage(), rootBytes: this.usedBytes };
  }
}

function shownLimits({ memoryMb, cpus, processes }: MachineLimits) {
  return { memoryMb, cpuPercent: cpus * 100, processes };
}
