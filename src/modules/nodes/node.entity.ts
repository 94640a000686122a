import { Entity, Index } from 'typeorm';
import { AsciiColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';

/** A hosting node: where programs run and the `node` and `broker` roles stand beside them. */
@Entity('nodes')
export class HostingNode {
  @IdPrimary()
  id!: string;

  @Index('uq_nodes_name', { unique: true })
  @AsciiColumn('name', 64)
  name!: string;

  /** SHA-256 of the node's token in hexadecimal. */
  @Index('uq_nodes_token_hash', { unique: true })
  @AsciiColumn('token_hash', 64)
  tokenHash!: string;

  /** What the node said of itself last; null before it ever did. */
  @AsciiColumn('agent_version', 32, { nullable: true })
  agentVersion!: string | null;

  @AsciiColumn('address', 45, { nullable: true })
  address!: string | null;

  /** Where clients reach its consoles, as it said itself. */
  @AsciiColumn('console_url', 255, { nullable: true })
  consoleUrl!: string | null;

  @TimeColumn('last_seen_at', { nullable: true })
  lastSeenAt!: Date | null;

  @TimeColumn('created_at')
  createdAt!: Date;
}
