import { Injectable } from '@nestjs/common';
import { WrongKey } from '../../../platform/crypto/key-provider.js';
import { BrokenCiphertext, openValue } from '../../../platform/crypto/value-cipher.js';
import { Database } from '../../../platform/database/database.js';
import { DomainError, notFound } from '../../../platform/errors/domain-error.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import { newId } from '../../../platform/ids/id.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { truncate } from '../../../platform/text/truncate.js';
import { VaultKeys } from '../keys/vault-keys.service.js';
import { VaultAnchor } from '../vault-anchor.service.js';
import { headOf, placeOf } from './scope-head.js';
import type { ScopeOwner } from './scope-name.js';
import { faultOf } from './scope-snapshot.js';
import { VaultIncident } from './vault-incident.entity.js';
import { VaultScope } from './vault-scope.entity.js';
import { VaultSecret } from './vault-secret.entity.js';

const HOUR_MS = 3_600_000;
/** Times an operator may do it in an hour. Who has to more often has another problem. */
const AN_HOUR = 10;
/** Other machines of the control plane may have seen some epochs more than this one. */
const MARGIN = 1000;

export interface Accepted {
  scope: string;
  /** What was refused until now; null when it was as it should be. */
  fault: string | null;
  /** Why it stays refused; null when it is served again. */
  refused: string | null;
}

/** What an operator says, once for all scopes it is about. */
interface Order {
  reason: string;
  at: Date;
}

/** Takes the vault as it stands for good, after a backup was put back on purpose. */
@Injectable()
export class VaultAcceptance {
  constructor(
    private readonly database: Database,
    private readonly keys: VaultKeys,
    private readonly anchor: VaultAnchor,
    private readonly events: EventRecorder,
    private readonly log: AppLogger,
  ) {}

  /**
   * A scope, or null for all that are refused. Only values that open are taken: what was changed by a stranger's hand stays
   * refused, whatever the operator says.
   */
  async accept(scope: string | null, reason: string): Promise<Accepted[]> {
    const order = { reason, at: new Date() };
    await this.mustBeRare();
    if (scope !== null) {
      const accepted = (await this.one(scope, order)) ?? (await this.missing(scope, order));
      if (!accepted) throw notFound();
      return [accepted];
    }
    const accepted: Accepted[] = [];
    for (const name of await this.known()) {
      const answer = (await this.one(name, order)) ?? (await this.missing(name, order));
      if (answer && answer.fault !== null) accepted.push(answer);
    }
    return accepted;
  }

  /** Scopes of the database, and those that it ought to have. */
  private async known(): Promise<string[]> {
    const rows = await this.database.manager.find(VaultScope, { select: { scope: true } });
    return [...new Set([...rows.map(({ scope }) => scope), ...this.anchor.scopes()])].sort();
  }

  /** One that came about after the backup was made, so that it is not there any more: it begins anew, empty. */
  private async missing(scope: string, order: Order): Promise<Accepted | null> {
    const floor = this.anchor.floor(scope);
    const owner = floor > 0 ? await this.ownerOf(scope) : null;
    if (!owner) return null;
    const headKey = await this.keys.platformKey('head');
    const { kekId, wrappedSeed } = await this.keys.newSeed(scope, 1);
    const epoch = floor + MARGIN;
    const empty = { ...owner, scope, kekId, wrappedSeed, generation: 1, epoch, versionFloor: 0 };
    const row = { ...empty, head: headOf(headKey, empty, []), createdAt: order.at };
    const fault = 'EPOCH_ROLLBACK';
    await this.database.transaction(async (tx) => {
      await tx.manager.insert(VaultScope, row);
      await this.record(tx, row, fault, order);
      tx.afterCommit(() => this.anchor.raise(scope, epoch));
    });
    return { scope, fault, refused: null };
  }

  private async ownerOf(scope: string): Promise<ScopeOwner | null> {
    const [, id] = scope.split(':');
    const [row] = await this.database.manager.query<ScopeOwner[]>(
      `SELECT account_id AS accountId, id AS serverId FROM servers WHERE id = ? AND status <> 'DELETING'
        UNION SELECT id, NULL FROM accounts WHERE id = ?`,
      [id, id],
    );
    return row ?? null;
  }

  private async one(name: string, order: Order): Promise<Accepted | null> {
    const headKey = await this.keys.platformKey('head');
    const floor = this.anchor.floor(name);
    const row = await this.database.manager.findOneBy(VaultScope, { scope: name });
    if (!row) return null;
    let seed;
    try {
      seed = await this.keys.seed(row);
    } catch (error) {
      if (!(error instanceof WrongKey)) throw error;
      return { scope: name, fault: 'WRAPPED_KEY', refused: 'its key does not open' };
    }
    return this.database.transaction(async (tx) => {
      const scope = await tx.manager.findOneOrFail(VaultScope, {
        where: { scope: name, generation: row.generation },
        lock: { mode: 'pessimistic_write' },
      });
      const rows = await tx.manager.find(VaultSecret, { where: { scope: name } });
      const fault = faultOf(headKey, { scope, rows }, floor);
      if (fault === null) return { scope: name, fault, refused: null };
      const broken = rows.filter((secret) => {
        try {
          if (secret.ciphertext !== null) openValue(seed, placeOf(scope, secret), secret.ciphertext).fill(0);
          return false;
        } catch (error) {
          if (error instanceof BrokenCiphertext) return true;
          throw error;
        }
      });
      if (broken.length > 0)
        return { scope: name, fault, refused: `these values do not open: ${broken.map(({ key }) => key).join(', ')}` };
      // Beyond whatever was reached before, so that the anchor has nothing against it and older copies stay refused.
      const epoch = Math.max(scope.epoch, floor) + MARGIN;
      await tx.manager.update(VaultScope, { scope: name }, { epoch, head: headOf(headKey, { ...scope, epoch }, rows) });
      await this.record(tx, scope, fault, order);
      tx.afterCommit(() => this.anchor.raise(name, epoch));
      return { scope: name, fault, refused: null };
    });
  }

  private async record(
    tx: Parameters<EventRecorder['record']>[0],
    { scope, accountId, serverId }: Pick<VaultScope, 'scope' | 'accountId' | 'serverId'>,
    fault: string,
    { reason, at: createdAt }: Order,
  ): Promise<void> {
    const detail = truncate(`${fault}: ${reason}`, 500);
    await tx.manager.insert(VaultIncident, { id: newId('inc'), scope, kind: 'ACCEPTED', detail, createdAt });
    await this.events.record(tx, {
      accountId,
      resourceId: serverId ?? accountId,
      event: serverId === null ? 'user:vault.accept' : 'server:vault.accept',
      properties: { fault },
      ...SYSTEM,
    });
    this.log.warn({ scope, fault, reason }, 'An operator accepted the vault as it stands');
  }

  private async mustBeRare(): Promise<void> {
    const since = new Date(Date.now() - HOUR_MS);
    const [row] = await this.database.manager.query<{ times: unknown }[]>(
      "SELECT COUNT(DISTINCT created_at) AS times FROM vault_incidents WHERE kind = 'ACCEPTED' AND created_at > ?",
      [since],
    );
    if (Number(row!.times) < AN_HOUR) return;
    throw new DomainError('rate_limited', 'rate_limited', `This was done ${AN_HOUR} times in the last hour; wait.`);
  }
}
