import type { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import type {
  ServiceSecrets,
  VaultRead,
  VaultReadsAnswer,
  VaultRefusal,
} from '../platform/internal-api/vault-reads.contract.js';
import { LastServed } from './last-served.js';

/** How long the first read of a group waits for others at most: as long as each turn brings more of them. */
const GATHER_MS = 2;
/** Groups under way at the same time: while one is being recorded, the next one gathers. */
const FLIGHTS = 2;
const MAX_READS = 500;
/** Each brings up to a megabyte along. */
const MAX_SERVICES = 32;

export type ReadAnswer =
  /** Whoever gets it holds it and has to release it. */
  | { secrets: LastServed }
  | { refused: VaultRefusal; incident?: string | undefined }
  /** What kept the control plane from answering. */
  | { failed: unknown };

interface Waiting {
  read: VaultRead;
  resolve: (answer: ReadAnswer) => void;
}

/**
 * Asks for what programs want to read, all that was asked for at about the same moment in one request: the control plane
 * records it in one transaction, and one write to the disk serves them all.
 */
export class ReadGroups {
  private waiting: Waiting[] = [];
  private flights = 0;
  private gathering = false;

  constructor(private readonly api: Pick<InternalApiClient, 'vaultReads'>) {}

  ask(read: VaultRead): Promise<ReadAnswer> {
    return new Promise((resolve) => {
      this.waiting.push({ read, resolve });
      if (this.flights < FLIGHTS && !this.gathering) this.gather(performance.now() + GATHER_MS);
    });
  }

  private gather(until: number): void {
    this.gathering = true;
    const { length } = this.waiting;
    setImmediate(() => {
      if (this.waiting.length > length && performance.now() < until) this.gather(until);
      else this.take();
    });
  }

  private take(): void {
    this.gathering = false;
    const services = new Set<string>();
    let end = 0;
    while (end < this.waiting.length && end < MAX_READS) {
      services.add(this.waiting[end]!.read.serverId);
      if (services.size > MAX_SERVICES) break;
      end++;
    }
    const group = this.waiting.splice(0, end);
    if (group.length === 0) return;
    this.flights++;
    void this.fly(group).finally(() => {
      this.flights--;
      // They have waited already.
      if (this.waiting.length > 0 && !this.gathering) this.take();
    });
    if (this.waiting.length > 0 && this.flights < FLIGHTS) this.take();
  }

  private async fly(group: Waiting[]): Promise<void> {
    try {
      const { services } = await this.api.vaultReads(group.map(({ read }) => read));
      deal(group, services);
    } catch (failed) {
      for (const { resolve } of group) resolve({ failed });
    }
  }
}

/** Hands out the answer; all reads of a service share the same bytes. */
function deal(group: Waiting[], services: VaultReadsAnswer['services']): void {
  const served = new Map<string, LastServed>();
  for (const { read, resolve } of group) {
    const answer = services[read.serverId];
    // Of what was refused already nothing is handed out, whatever else is asked for that service.
    if (answer === undefined || read.refused !== null) resolve({ refused: 'unknown' });
    else if ('refused' in answer) resolve(answer);
    else resolve({ secrets: shared(served, read.serverId, answer).hold() });
  }
  for (const secrets of served.values()) secrets.release();
}

function shared(served: Map<string, LastServed>, serverId: string, answer: ServiceSecrets): LastServed {
  const made = served.get(serverId) ?? LastServed.from(answer);
  served.set(serverId, made);
  return made;
}
