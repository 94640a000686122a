import { Injectable } from '@nestjs/common';
import { IsNull, LessThan, MoreThan } from 'typeorm';
import { API_SCOPES, type ApiScope } from '../../platform/auth/principal.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { badField, notFound, quotaExceeded } from '../../platform/errors/domain-error.js';
import { EventRecorder, type NewEvent } from '../../platform/events/event-recorder.js';
import { canonicalEntry } from '../../platform/http/client-address.js';
import { newId } from '../../platform/ids/id.js';
import { freshKey, isAddressOrRange } from './api-key.js';
import { ApiKey } from './api-key.entity.js';
import { QuotaLock } from './quota-lock.service.js';

/** Keys of an account that are neither revoked nor expired. */
const MAX_LIVE_KEYS = 100;
const LAST_EXPIRY = Date.UTC(9999, 0);

export interface NewApiKey {
  name?: string | null;
  /** Read only when left out. */
  scopes?: readonly ApiScope[];
  expiresAt?: Date | null;
  allowedAddresses?: readonly string[] | null;
}

/** Who asks for a change, for the activity log. */
export type ChangedBy = Pick<NewEvent, 'actor' | 'ip'>;

export interface ApiKeyView {
  id: string;
  name: string | null;
  prefix: string;
  scopes: ApiScope[];
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
  createdAt: Date;
}

/** Made and revoked in the panel and by the operator; a key never makes a key. */
@Injectable()
export class ApiKeysService {
  constructor(
    private readonly database: Database,
    private readonly events: EventRecorder,
    private readonly quota: QuotaLock,
  ) {}

  /** The answer is the only place where the clear key ever stands. */
  async create(accountId: string, wanted: NewApiKey, by: ChangedBy): Promise<ApiKeyView & { key: string }> {
    const { key, prefix, hashedKey } = freshKey();
    const row: ApiKey = {
      id: newId('key'),
      accountId,
      name: wanted.name ?? null,
      prefix,
      hashedKey,
      scopes: scopesOf(wanted.scopes ?? ['read']),
      allowedAddresses: addressesOf(wanted.allowedAddresses ?? null),
      lastUsedAt: null,
      expiresAt: expiryOf(wanted.expiresAt ?? null),
      revokedAt: null,
      createdAt: new Date(),
    };
    await this.database.transaction(async (tx) => {
      await this.quota.acquire(tx, accountId);
      const used = await this.countLive(tx, accountId);
      if (used >= MAX_LIVE_KEYS) throw quotaExceeded({ name: 'apiKeys', allowed: MAX_LIVE_KEYS, used, requested: 1 });
      await tx.manager.insert(ApiKey, row);
      const properties = { prefix, scopes: row.scopes };
      await this.events.record(tx, { ...by, accountId, resourceId: row.id, event: 'user:api-key.create', properties });
    });
    const { id, ...rest } = apiKeyView(row);
    return { id, key, ...rest };
  }

  /** Newest first, revoked ones included; `before` is the id after which to go on. */
  async list(accountId: string, limit?: number, before?: string): Promise<ApiKeyView[]> {
    const keys = await this.database.manager.find(ApiKey, {
      where: { accountId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      ...(limit === undefined ? {} : { take: limit }),
    });
    return keys.map(apiKeyView);
  }

  /** The key is refused from its next request on, in every process. Revoking twice changes nothing. */
  revoke(accountId: string, id: string, by: ChangedBy): Promise<ApiKeyView> {
    return this.revokeWhere({ id, accountId }, by);
  }

  /** For the operator, who need not say whose key it is. */
  revokeAny(id: string, by: ChangedBy): Promise<ApiKeyView> {
    return this.revokeWhere({ id }, by);
  }

  private countLive({ manager }: Tx, accountId: string): Promise<number> {
    const live = { accountId, revokedAt: IsNull() };
    return manager.countBy(ApiKey, [
      { ...live, expiresAt: IsNull() },
      { ...live, expiresAt: MoreThan(new Date()) },
    ]);
  }

  private revokeWhere(where: { id: string; accountId?: string }, by: ChangedBy): Promise<ApiKeyView> {
    return this.database.transaction(async (tx) => {
      const key = await tx.manager.findOne(ApiKey, { where, lock: { mode: 'pessimistic_write' } });
      if (!key) throw notFound();
      if (key.revokedAt === null) {
        key.revokedAt = new Date();
        await tx.manager.update(ApiKey, { id: key.id }, { revokedAt: key.revokedAt });
        const { accountId, id: resourceId, prefix } = key;
        await this.events.record(tx, {
          ...by,
          accountId,
          resourceId,
          event: 'user:api-key.delete',
          properties: { prefix },
        });
      }
      return apiKeyView(key);
    });
  }
}

function scopesOf(scopes: readonly ApiScope[]): ApiScope[] {
  if (scopes.length === 0) throw badField('scopes', 'empty', 'scopes must name at least one of read, write.');
  const unknown = scopes.find((scope) => !API_SCOPES.includes(scope));
  if (unknown !== undefined) throw badField('scopes', 'unknown_scope', 'scopes may hold read and write.');
  return API_SCOPES.filter((scope) => scopes.includes(scope));
}

function expiryOf(expiresAt: Date | null): Date | null {
  if (expiresAt === null) return null;
  const time = expiresAt.getTime();
  if (Number.isNaN(time)) throw badField('expiresAt', 'date', 'expiresAt must be a moment.');
  if (time <= Date.now()) throw badField('expiresAt', 'not_in_future', 'expiresAt must be a moment in the future.');
  if (time >= LAST_EXPIRY) throw badField('expiresAt', 'too_far', 'expiresAt must lie before the year 9999.');
  return expiresAt;
}

function addressesOf(addresses: readonly string[] | null): string[] | null {
  if (addresses === null || addresses.length === 0) return null;
  if (addresses.length > 20) throw badField('allowedAddresses', 'too_many', 'At most 20 addresses may be named.');
  const bad = addresses.findIndex((address) => !isAddressOrRange(address));
  if (bad >= 0)
    throw badField('allowedAddresses', 'malformed', `Entry ${bad + 1} is neither an IP address nor a range.`);
  return addresses.map(canonicalEntry);
}

function apiKeyView(key: ApiKey): ApiKeyView {
  const { id, name, prefix, scopes, lastUsedAt, expiresAt, revokedAt, createdAt } = key;
  return { id, name, prefix, scopes, lastUsedAt, expiresAt, revokedAt, createdAt };
}
