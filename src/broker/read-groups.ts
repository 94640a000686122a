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
  held: LastServed | null;
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

  /** `held` is what the caller was given last: where nothing has changed it is given again, and no secret travels. */
  ask(read: VaultRead, held: LastServed | null): Promise<ReadAnswer> {
    held?.hold();
    return new Promise<ReadAnswer>((resolve) => {
      this.waiting.push({ read, held, resolve });
      if (this.flights < FLIGHTS && !this.gathering) this.gather(performance.now() + GATHER_MS);
    }).finally(() => held?.release());
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
    void this.fly(group);
    if (this.waiting.length > 0 && this.flights < FLIGHTS) this.take();
  }

  private async fly(group: Waiting[]): Promise<void> {
    const held = heldBy(group);
    try {
      const states = [...held].map(([serverId, { state }]) => [serverId, state]);
      const { services } = await this.api
        .vaultReads(
          group.map(({ read }) => read),
          Object.fromEntries(states) as Record<string, string>,
        )
        .finally(() => this.landed());
      deal(group, services, held);
    } catch (failed) {
      for (const { resolve } of group) resolve({ failed });
    }
  }

  /** Those that wait have waited already: they set out before the others are handed their answers. */
  private landed(): void {
    this.flights--;
    if (this.waiting.length > 0 && !this.gathering) this.take();
  }
}

/** What all who ask for a service hold of it. */
function heldBy(group: Waiting[]): Map<string, LastServed> {
  const held = new Map<string, LastServed | null>();
  for (const { read, held: own } of group) {
    const others = held.get(read.serverId);
    held.set(read.serverId, others === undefined || others === own ? own : null);
  }
  return new Map([...held].flatMap(([serverId, secrets]) => (secrets ? [[serverId, secrets]] : [])));
}

/** Hands out the answer; all reads of a service share the same bytes. */
function deal(group: Waiting[], services: VaultReadsAnswer['services'], held: Map<string, LastServed>): void {
  const served = new Map<string, LastServed>();
  for (const { read, resolve } of group) {
    const answer = services[read.serverId];
    // Of what was refused already nothing is handed out, whatever else is asked for that service.
    if (answer === undefined || read.refused !== null) resolve({ refused: 'unknown' });
    else if ('refused' in answer) resolve(answer);
    else if ('unchanged' in answer) resolve({ secrets: held.get(read.serverId)!.hold() });
    else resolve({ secrets: shared(served, read.serverId, answer).hold() });
  }
  for (const secrets of served.values()) secrets.release();
}

function shared(served: Map<string, LastServed>, serverId: string, answer: ServiceSecrets): LastServed {
  const made = served.get(serverId) ?? LastServed.from(answer);
  served.set(serverId, made);
  return made;
}
