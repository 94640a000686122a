import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DomainError, unavailable } from '../platform/errors/domain-error.js';
import { MemoryRoom } from '../platform/http/memory-room.js';
import { LocalSlidingLog } from '../platform/http/sliding-log.js';
import { InternalApiClient, InternalApiRefusal } from '../platform/internal-api/internal-api.client.js';
import type { VaultRead, VaultRefusal } from '../platform/internal-api/vault-reads.contract.js';
import { AppLogger } from '../platform/observability/logger.js';
import { BrokerSettings } from './broker-settings.js';
import type { Caller } from './caller.js';
import type { LastServed } from './last-served.js';
import { Outage } from './outage.js';
import { ReadGroups } from './read-groups.js';
import { ServedLedger } from './served-ledger.js';

const MINUTE_MS = 60_000;
/** Refused reads of one service that are put into its read log, a minute; a program can make any number of them. */
const REFUSALS_PER_MINUTE = 30;
const RETRY_AFTER_SECONDS = 2;
/** What all running services were served last: the large ones are left out where there is little room. */
const MEMORY = { ofOne: { share: 1 / 8 }, ofAll: 128 * 1024 * 1024 };

/**
 * Reads secrets in the name of a running service. What it answers was recorded before, by the control plane or, while that
 * is away, in the ledger of what is still to be handed in.
 */
@Injectable()
export class SecretReads {
  private readonly budget = new LocalSlidingLog();
  private readonly refusals = new LocalSlidingLog();
  private readonly outage = new Outage();
  private readonly memory = new MemoryRoom(MEMORY);
  private readonly groups: ReadGroups;
  private readonly ledger: ServedLedger;

  constructor(
    private readonly settings: BrokerSettings,
    private readonly log: AppLogger,
    api: InternalApiClient,
  ) {
    this.groups = new ReadGroups(api);
    this.ledger = new ServedLedger(api, log, (taken) => (taken ? this.reached() : this.lost(null)));
  }

  /** The secrets of the service; whoever gets them has to release them. */
  async read(caller: Caller): Promise<LastServed> {
    this.spend(caller);
    const read = readOf(caller, null);
    if (this.outage.skips) return this.fromMemory(caller, read);
    const answer = await this.groups.ask(read, caller.lastServed);
    if ('secrets' in answer) {
      this.reached();
      if (!caller.ended) this.remember(caller, answer.secrets);
      return answer.secrets;
    }
    if ('refused' in answer) {
      this.reached();
      if (answer.refused !== 'unavailable') forget(caller);
      throw refusal(answer.refused, answer.incident);
    }
    if (!this.isAway(answer.failed)) throw unavailable('vault', answer.failed, RETRY_AFTER_SECONDS);
    return this.fromMemory(caller, read);
  }

  /** Puts a read that the broker itself refused into the service's read log. */
  refused(caller: Caller, reason: string): void {
    if (!this.refusals.hit(caller.serverId, REFUSALS_PER_MINUTE, MINUTE_MS).accepted) return;
    const read = readOf(caller, reason);
    const keep = (): void => void this.ledger.add({ ...read, keys: [] });
    if (this.outage.skips) keep();
    else
      void this.groups.ask(read, null).then((answer) => {
        if ('failed' in answer && this.isAway(answer.failed)) keep();
      });
  }

  close(): Promise<void> {
    return this.ledger.close();
  }

  private spend(caller: Caller): void {
    const { accepted, waitMs } = this.budget.hit(caller.serverId, this.settings.readsPerMinute, MINUTE_MS);
    if (accepted) return;
    this.refused(caller, 'rate_limited');
    throw new DomainError('rate_limited', 'rate_limited', 'Too many reads of secrets by this service.', {
      retryAfterSeconds: waitMs / 1000,
    });
  }

  private fromMemory(caller: Caller, read: VaultRead): LastServed {
    const over = this.outage.lasts > this.settings.offlineSeconds * 1000;
    if (over) forget(caller);
    const { lastServed } = caller;
    // Nothing leaves without a record of it.
    if (lastServed === null || caller.ended || !this.ledger.add({ ...read, keys: lastServed.keys })) {
      throw unavailable('vault', undefined, RETRY_AFTER_SECONDS);
    }
    return lastServed.hold();
  }

  private remember(caller: Caller, secrets: LastServed): void {
    if (caller.lastServed === secrets) return;
    // First, as what was served before it may be in the way.
    forget(caller);
    const fits = secrets.json.takeRoom((bytes) => this.memory.tryTake(caller.serverId, bytes));
    if (fits) caller.lastServed = secrets.hold();
  }

  /** Whether a failure means that the control plane is away, rather than that it says no to this node. */
  private isAway(failed: unknown): boolean {
    if (failed instanceof InternalApiRefusal && failed.status < 500) {
      this.log.error({ err: failed }, 'the control plane refuses this node the secrets of its services');
      return false;
    }
    this.lost(failed);
    return true;
  }

  private lost(failed: unknown): void {
    if (!this.outage.failed() || failed === null) return;
    this.log.warn({ err: failed }, 'the control plane is away: running services are served what they were served last');
  }

  private reached(): void {
    if (!this.outage.answered()) return;
    this.log.info({ served: this.ledger.size }, 'the control plane is back');
    void this.ledger.handIn();
  }
}

function readOf({ serverId, address }: Caller, refused: string | null): VaultRead {
  return { id: randomUUID(), serverId, address, at: new Date().toISOString(), refused };
}

function forget(caller: Caller): void {
  caller.lastServed?.release();
  caller.lastServed = null;
}

function refusal(refused: VaultRefusal, incident: string | undefined): DomainError {
  if (refused === 'integrity') {
    return new DomainError('unavailable', 'vault_integrity', 'The secrets of this service are held back.', {
      retryAfterSeconds: MINUTE_MS / 1000,
      members: incident === undefined ? {} : { incident },
    });
  }
  if (refused === 'unavailable') return unavailable('vault', undefined, RETRY_AFTER_SECONDS);
  return refused === 'suspended'
    ? new DomainError('forbidden', 'suspended', 'This service is suspended.')
    : new DomainError('forbidden', 'unknown_caller', 'This address is of no running service.');
}
