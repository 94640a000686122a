import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';
import type { Protocol } from '../../../platform/network/protocol.js';

/** A public port of a service. The unique key is the claim: no two services can hold one port. */
@Entity('allocations')
@Index('uq_allocations_port', ['ip', 'protocol', 'port'], { unique: true })
export class Allocation {
  @IdPrimary()
  id!: string;

  @Index('ix_allocations_server')
  @ForeignKey('servers', { name: 'fk_allocations_server', onDelete: 'CASCADE' })
  @IdColumn('server_id')
  serverId!: string;

  @AsciiColumn('ip', 45)
  ip!: string;

  @Column({ name: 'port', type: 'int' })
  port!: number;

  @AsciiColumn('protocol', 3)
  protocol!: Protocol;

  @Column({ name: 'is_primary', type: 'boolean' })
  isPrimary!: boolean;

  /** Whether connections are let through. */
  @Column({ name: 'active', type: 'boolean', default: true })
  active!: boolean;

  /** New connections a second from one address; 0 for no limit. */
  @Column({ name: 'rate_limit', type: 'int', default: 0 })
  rateLimit!: number;

  /** Given up by its service: out of its account's sight, and nobody else's until the engine has let go of it. */
  @Column({ name: 'removing', type: 'boolean', default: false })
  removing!: boolean;

  @TimeColumn('created_at')
  createdAt!: Date;
}
