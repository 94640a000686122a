import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from '../database/database.js';
import { AppLogger } from '../observability/logger.js';

export interface Claim {
  accountId: string;
  key: string;
  /** Id of the request that asks. */
  owner: string;
  routeHash: string;
  /** Null while a streamed body has yet to arrive. */
  bodyHash: string | null;
}

export interface StoredAnswer {
  status: number;
  /** JSON text, null for an answer without a body. */
  body: string | null;
  location: string | null;
}

/** What stands under a key that is taken. */
export type Holder =
  | { state: 'RUNNING'; routeHash: string; bodyHash: string | null; alive: boolean }
  | { state: 'DONE'; routeHash: string; bodyHash: string | null; answer: StoredAnswer | null };

interface Row {
  state: 'RUNNING' | 'DONE';
  route_hash: string;
  body_hash: string | null;
  alive: number;
  response_status: number;
  response_body: string | null;
  response_kept: number;
  response_location: string | null;
}

const LEASE_SECONDS = 30;
const RENEW_MS = 10_000;
const PURGE_MS = 600_000;
const PURGE_BATCH = 1000;
const MAX_ATTEMPTS = 5;
/**
 * What is made or changed is answered in less than this. Answers above it are results of queries and scans, and a table that
 * keeps each for a day, for every key that a client thinks of, is no place for them.
 */
const MAX_KEPT_BYTES = 16 * 1024;
/** What is no larger is always kept, anything else only of an account that does not have very many keys. */
const SMALL_BYTES = 1024;
const MANY_KEYS = 5000;

/** The keys and their answers, in the database: they must outlive every process and be seen by all of them. */
@Injectable()
export class IdempotencyStore implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly running = new Map<string, Claim>();
  private renewal: NodeJS.Timeout | undefined;
  private purge: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    this.renewal = setInterval(() => void this.guard(this.renewLeases()), RENEW_MS).unref();
    this.purge = setInterval(() => void this.guard(this.purgeExpired()), PURGE_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.renewal);
    clearInterval(this.purge);
  }

  /** Takes the key for this request, or tells who has it. */
  async claim(claim: Claim): Promise<Holder | null> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (await this.insert(claim)) {
        this.running.set(claim.owner, claim);
        return null;
      }
      const holder = await this.find(claim);
      if (holder) return holder;
      // Freed or expired between the two statements.
    }
    return { state: 'RUNNING', routeHash: claim.routeHash, bodyHash: claim.bodyHash, alive: true };
  }

  /** Keeps the answer for a day. */
  async complete(claim: Claim, answer: StoredAnswer): Promise<void> {
    const kept = await this.isKept(claim, answer.body);
    await this.database.manager.query(
      `UPDATE idempotency_keys
          SET state = 'DONE', body_hash = ?, response_status = ?, response_body = ?, response_kept = ?, response_location = ?
        WHERE account_id = ? AND idem_key = ? AND owner = ?`,
      [
        claim.bodyHash,
        answer.status,
        kept ? answer.body : null,
        kept ? 1 : 0,
        answer.location,
        claim.accountId,
        claim.key,
        claim.owner,
      ],
    );
    this.running.delete(claim.owner);
  }

  /** Gives the key back: the request failed, so it may be tried again under the same one. */
  async release(claim: Claim): Promise<void> {
    try {
      await this.database.manager.query(
        'DELETE FROM idempotency_keys WHERE account_id = ? AND idem_key = ? AND owner = ?',
        [claim.accountId, claim.key, claim.owner],
      );
    } finally {
      this.running.delete(claim.owner);
    }
  }

  /** Leaves the key to its lease: what the request did is done, but its answer could not be kept. */
  abandon(claim: Claim): void {
    this.running.delete(claim.owner);
  }

  async renewLeases(): Promise<void> {
    const owners = [...this.running.keys()];
    if (owners.length === 0) return;
    const claims = [...this.running.values()];
    await this.database.manager.query(
      `UPDATE idempotency_keys SET lease_until = UTC_TIMESTAMP(3) + INTERVAL ? SECOND
        WHERE (account_id, idem_key) IN (${claims.map(() => '(?, ?)').join(', ')}) AND owner IN (?) AND state = 'RUNNING'`,
      [LEASE_SECONDS, ...claims.flatMap(({ accountId, key }) => [accountId, key]), owners],
    );
  }

  async purgeExpired(): Promise<void> {
    for (;;) {
      const { affectedRows } = await this.database.manager.query<{ affectedRows: number }>(
        `DELETE FROM idempotency_keys WHERE expires_at <= UTC_TIMESTAMP(3) LIMIT ${PURGE_BATCH}`,
      );
      if (affectedRows < PURGE_BATCH) return;
    }
  }

  private async isKept({ accountId }: Claim, body: string | null): Promise<boolean> {
    const bytes = Buffer.byteLength(body ?? '');
    if (bytes <= SMALL_BYTES || bytes > MAX_KEPT_BYTES) return bytes <= SMALL_BYTES;
    const beyond = await this.database.manager.query<unknown[]>(
      `SELECT 1 FROM idempotency_keys WHERE account_id = ? LIMIT 1 OFFSET ${MANY_KEYS}`,
      [accountId],
    );
    return beyond.length === 0;
  }

  private async insert({ accountId, key, owner, routeHash, bodyHash }: Claim): Promise<boolean> {
    // IGNORE, not a caught error: a taken key is no fault, and the answer tells it just as well.
    const { affectedRows } = await this.database.manager.query<{ affectedRows: number }>(
      `INSERT IGNORE INTO idempotency_keys
         (account_id, idem_key, owner, route_hash, body_hash, state, lease_until, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, 'RUNNING', UTC_TIMESTAMP(3) + INTERVAL ? SECOND, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) + INTERVAL 1 DAY)`,
      [accountId, key, owner, routeHash, bodyHash, LEASE_SECONDS],
    );
    return affectedRows === 1;
  }

  private async find({ accountId, key }: Claim): Promise<Holder | null> {
    await this.database.manager.query(
      'DELETE FROM idempotency_keys WHERE account_id = ? AND idem_key = ? AND expires_at <= UTC_TIMESTAMP(3)',
      [accountId, key],
    );
    const [row] = await this.database.manager.query<Row[]>(
      `SELECT state, route_hash, body_hash, lease_until > UTC_TIMESTAMP(3) AS alive,
              response_status, response_body, response_kept, response_location
         FROM idempotency_keys WHERE account_id = ? AND idem_key = ?`,
      [accountId, key],
    );
    if (!row) return null;
    const common = { routeHash: row.route_hash, bodyHash: row.body_hash };
    if (row.state === 'RUNNING') return { ...common, state: 'RUNNING', alive: Number(row.alive) === 1 };
    const answer = { status: row.response_status, body: row.response_body, location: row.response_location };
    return { ...common, state: 'DONE', answer: Number(row.response_kept) === 1 ? answer : null };
  }

  private async guard(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.log.warn({ err: error }, 'Idempotency keys could not be kept up');
    }
  }
}
