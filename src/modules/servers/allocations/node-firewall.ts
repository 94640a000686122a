import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Database } from '../../../platform/database/database.js';
import type {
  DatabaseAddress,
  FirewallAnswer,
  FirewallRule,
} from '../../../platform/internal-api/internal-api.contract.js';

interface Row {
  ip: string;
  port: number;
  protocol: FirewallRule['protocol'];
  active: number;
  rateLimit: number;
}

/** What each node's firewall has to do: one rule for every port of its services, and the databases they may reach. */
@Injectable()
export class NodeFirewall {
  constructor(private readonly database: Database) {}

  /** The rules by their version, which is made of nothing but them: the same rules are the same version. */
  async of(nodeId: string): Promise<FirewallAnswer> {
    const [rules, databases] = await Promise.all([this.rules(nodeId), this.databases()]);
    const version = createHash('sha256')
      .update(JSON.stringify([rules, databases]))
      .digest('base64url')
      .slice(0, 22);
    return { version, rules, databases };
  }

  private async rules(nodeId: string): Promise<FirewallRule[]> {
    const rows = await this.database.manager.query<Row[]>(
      `SELECT a.ip, a.port, a.protocol, a.active, a.rate_limit AS rateLimit
         FROM allocations a JOIN servers s ON s.id = a.server_id
        WHERE s.node_id = ? ORDER BY a.ip, a.protocol, a.port`,
      [nodeId],
    );
    return rows.map(({ ip, port, protocol, active, rateLimit }) => ({
      ip,
      port: Number(port),
      protocol,
      active: Boolean(active),
      rateLimit: Number(rateLimit),
    }));
  }

  private async databases(): Promise<DatabaseAddress[]> {
    const rows = await this.database.manager.query<DatabaseAddress[]>(
      'SELECT DISTINCT service_address AS host, service_port AS port FROM database_hosts ORDER BY host, port',
    );
    return rows.map(({ host, port }) => ({ host, port: Number(port) }));
  }
}
