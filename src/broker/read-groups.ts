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
const MAX_READS = 500;
/** Groups under way at the same time (while one is being recorded, the next one gathers), and services of a group. */
const TOGETHER = { flights: 2, services: 32 };
/** What was too large to be answered beside others. Whoever waits for the small ones does not wait for these. */
const ALONE = { flights: 1, services: 1 };

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

/** Reads that wait for a request, so many services to each. */
class Lane {
  private waiting: Waiting[] = [];
  private flights = 0;
  private gathering = false;

  constructor(
    private readonly limits: { flights: number; services: number },
    /** Calls back once it waits for nothing any more. */
    private readonly fly: (group: Waiting[], landed: () => void) => Promise<void>,
  ) {}

  add(one: Waiting): void {
    this.waiting.push(one);
    if (this.flights < this.limits.flights && !this.gathering) this.gather(performance.now() + GATHER_MS);
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
    const group = this.nextGroup();
    if (group.length === 0) return;
    this.flights++;
    void this.fly(group, () => this.landed());
    if (this.waiting.length > 0 && this.flights < this.limits.flights) this.take();
  }

  private nextGroup(): Waiting[] {
    const services = new Set<string>();
    const group: Waiting[] = [];
    const rest: Waiting[] = [];
    for (const one of this.waiting) {
      const { serverId } = one.read;
      const fits = group.length < MAX_READS && (services.has(serverId) || services.size < this.limits.services);
      if (fits) services.add(serverId);
      (fits ? group : rest).push(one);
    }
    this.waiting = rest;
    return group;
  }

  /** Those that wait have waited already: they set out before the others are handed their answers. */
  private landed(): void {
    this.flights--;
    if (this.waiting.length > 0 && !this.gathering) this.take();
  }
}

/**
 * Asks for what programs want to read, all that was asked for at about the same moment in one request: the control plane
 * records it in one transaction, and one write to the disk serves them all.
 */
export class ReadGroups {
  private readonly together = new Lane(TOGETHER, (group, landed) => this.fly(group, landed));
  private readonly alone = new Lane(ALONE, (group, landed) => this.fly(group, landed));

  constructor(private readonly api: Pick<InternalApiClient, 'vaultReads'>) {}

  /** `held` is what the caller was given last: where nothing has changed it is given again, and no secret travels. */
  ask(read: VaultRead, held: LastServed | null): Promise<ReadAnswer> {
    held?.hold();
    return new Promise<ReadAnswer>((resolve) => this.together.add({ read, held, resolve })).finally(() =>
      held?.release(),
    );
  }

  private async fly(group: Waiting[], landed: () => void): Promise<void> {
    const held = heldBy(group);
    try {
      const states = [...held].map(([serverId, { state }]) => [serverId, state]);
      const { services } = await this.api
        .vaultReads(
          group.map(({ read }) => read),
          Object.fromEntries(states) as Record<string, string>,
        )
        .finally(landed);
      deal(group, services, held, (one) => this.alone.add(one));
    } catch (failed) {
      for (const { resolve } of group) resolve({ failed });
    }
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
function deal(
  group: Waiting[],
  services: VaultReadsAnswer['services'],
  held: Map<string, LastServed>,
  putOff: (one: Waiting) => void,
): void {
  const served = new Map<string, LastServed>();
  for (const one of group) {
    const { read, resolve } = one;
    const answer = services[read.serverId];
    // Of what was refused already nothing is handed out, whatever else is asked for that service.
    if (answer === undefined || read.refused !== null) resolve({ refused: 'unknown' });
    else if ('refused' in answer) resolve(answer);
    else if ('putOff' in answer) putOff(one);
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
