import { PassThrough } from 'node:stream';
import type { EngineInstance, ExecSession, WorkshopSpec } from '../engine.js';
import { SimulatedInstance } from './simulated-instance.js';
import type { SimulatorClock } from './simulator-clock.js';

/** A container for work on a volume, as it is when it runs. */
export class SimulatedWorkshop extends SimulatedInstance {
  private readonly node: string | null;

  constructor({ memoryMb, node, ...spec }: WorkshopSpec, clock: SimulatorClock) {
    const limits = { memoryMb, cpuPercent: 0, processes: 0 };
    const network = { name: '', address: '', gateway: '' };
    super({ ...spec, limits, network, rootDiskMb: 0, environment: {}, ports: [] }, clock, () => {});
    this.node = node ?? null;
    this.running = true;
    this.startedAt = this.createdAt;
  }

  override describe(): EngineInstance {
    return { ...super.describe(), address: null, node: this.node };
  }
}

/** What a simulated volume holds of data: how much there is. */
interface Content {
  usedBytes: number;
}

/** `tar` in a workshop: an archive is a line of text here, and what is no such line cannot be unpacked. */
export function simulateTools(volume: Content, command: string[]): ExecSession {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const run = async (): Promise<number> => {
    if (command[0] !== 'tar') return 0;
    if (command.includes('--create')) {
      stdout.write(`${JSON.stringify({ usedBytes: volume.usedBytes })}\n`);
      return 0;
    }
    const usedBytes = usedBytesOf(Buffer.concat(await stdin.toArray()).toString());
    if (usedBytes === null) return 2;
    volume.usedBytes = usedBytes;
    return 0;
  };
  const exit = run().then((code) => {
    stdout.end();
    stderr.end();
    return code;
  });
  return { stdin, stdout, stderr, exit, kill: async () => void stdin.destroy() };
}

function usedBytesOf(archive: string): number | null {
  try {
    return (JSON.parse(archive) as Content).usedBytes;
  } catch {
    return null;
  }
}
