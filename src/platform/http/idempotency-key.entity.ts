import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { AsciiColumn, TimeColumn } from '../database/columns.js';

export type IdempotencyState = 'RUNNING' | 'DONE';

const ASCII = { charset: 'ascii', collation: 'ascii_bin' } as const;

/** A POST that carried an `Idempotency-Key`: whose it was, what it asked, and what it was answered. */
@Entity('idempotency_keys')
@Index('ix_idempotency_keys_expiry', ['expiresAt'])
export class IdempotencyKey {
  @PrimaryColumn({ name: 'account_id', type: 'char', length: 30, ...ASCII })
  accountId!: string;

  @PrimaryColumn({ name: 'idem_key', type: 'varchar', length: 255, ...ASCII })
  key!: string;

  /** Id of the request that holds the key. */
  @AsciiColumn('owner', 32)
  owner!: string;

  /** SHA-256 over method and path, hex. */
  @AsciiColumn('route_hash', 64)
  routeHash!: string;

  /** SHA-256 over the exact bytes of the body, hex; null until a streamed body has arrived. */
  @AsciiColumn('body_hash', 64, { nullable: true })
  bodyHash!: string | null;

  @AsciiColumn('state', 16)
  state!: IdempotencyState;

  /** The process that runs the request prolongs this. In the past: that process died, and how far it came is unknown. */
  @TimeColumn('lease_until')
  leaseUntil!: Date;

  @Column({ name: 'response_status', type: 'smallint', unsigned: true, nullable: true })
  responseStatus!: number | null;

  /** JSON text of the answer; null when there was none. */
  @Column({ name: 'response_body', type: 'mediumtext', nullable: true })
  responseBody!: string | null;

  /** False when the answer was too large to keep. */
  @Column({ name: 'response_kept', type: 'boolean', default: true })
  responseKept!: boolean;

  @Column({ name: 'response_location', type: 'varchar', length: 1024, nullable: true })
  responseLocation!: string | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('expires_at')
  expiresAt!: Date;
}
