import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { notFound } from '../../platform/errors/domain-error.js';
import { formatIp } from '../../platform/network/subnet.js';
import { Server } from './server.entity.js';
import type { ServerStatus } from './server-status.js';

/** How a service stands, for modules that have something of its. */
export interface ServerStanding {
  id: string;
  accountId: string;
  status: ServerStatus;
  /** Its address on the app network; null when it has none any more. */
  address: string | null;
  /** Whether its account is suspended. */
  suspended: boolean;
}

/** Every read of secrets asks it, so it is one statement. */
const STANDING = `
  SELECT s.id, s.account_id AS accountId, s.status, a.ip, o.status <> 'active' AS suspended
    FROM servers s JOIN accounts o ON o.id = s.account_id
    LEFT JOIN app_addresses a ON a.server_id = s.id AND a.network = ?
   WHERE s.id IN (?) AND s.node_id = ?`;

type StandingRow = Omit<ServerStanding, 'address' | 'suspended'> & { ip: string | number | null; suspended: number };

/** What other modules may know of services. */
@Injectable()
export class ServerDirectory {
  constructor(
    private readonly database: Database,
    private readonly config: Config,
  ) {}

  /** Throws the 404 unless the account has this service; in a transaction it cannot be deleted before its end. */
  async mustOwn(tx: Pick<Tx, 'manager'>, accountId: string, id: string): Promise<void> {
    const [row] = await tx.manager.query<object[]>(
      "SELECT id FROM servers WHERE id = ? AND account_id = ? AND status <> 'DELETING' LOCK IN SHARE MODE",
      [id, accountId],
    );
    if (!row) throw notFound();
  }

  /** Its name for people; null when it is gone. */
  async nameOf(id: string): Promise<string | null> {
    const server = await this.database.manager.findOne(Server, { select: { id: true, name: true }, where: { id } });
    return server?.name ?? null;
  }

  /** Those of the services that are on this node. */
  async onNode(nodeId: string, ids: readonly string[]): Promise<Map<string, ServerStanding>> {
    if (ids.length === 0) return new Map();
    const rows = await this.database.manager.query<StandingRow[]>(STANDING, [this.config.appNetwork, [...ids], nodeId]);
    return new Map(
      rows.map(({ ip, suspended, ...server }) => {
        const address = ip === null ? null : formatIp(Number(ip));
        return [server.id, { ...server, address, suspended: Number(suspended) === 1 }];
      }),
    );
  }
}
