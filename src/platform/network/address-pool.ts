import { isDuplicate, type Tx } from '../database/database.js';
import { unavailable } from '../errors/domain-error.js';
import { formatIp, parseSubnet, type Subnet } from './subnet.js';

/** How long a released address rests before somebody else may get it. */
const QUARANTINE_MINUTES = 10;

export interface PoolTable {
  /** A table with the columns `network`, `ip` (its primary key), `released_at` and the holder's, which is unique. */
  name: string;
  holder: string;
}

/**
 * The addresses of one network, each with at most one holder. A released one rests a while before it is given out again:
 * whoever still knows it (a connection, a mapping) must not find another tenant behind it.
 */
export class AddressPool {
  private readonly subnet: Subnet;

  constructor(
    private readonly table: PoolTable,
    private readonly network: string,
    subnet: string,
  ) {
    this.subnet = parseSubnet(subnet);
  }

  get gateway(): string {
    return formatIp(this.subnet.gateway);
  }

  /** Claims an address: one that has rested long enough, else the next never used, else the longest rested. */
  async claim(tx: Tx, holderId: string): Promise<string> {
    const rested = await this.reuse(
      tx,
      holderId,
      `released_at < UTC_TIMESTAMP(3) - INTERVAL ${QUARANTINE_MINUTES} MINUTE`,
    );
    if (rested !== null) return rested;
    const { name, holder } = this.table;
    for (;;) {
      const [row] = await tx.manager.query<{ last: string | number | null }[]>(
        `SELECT MAX(ip) AS last FROM ${name} WHERE network = ? AND ip BETWEEN ? AND ?`,
        [this.network, this.subnet.first, this.subnet.last],
      );
      let ip = row?.last == null ? this.subnet.first : Number(row.last) + 1;
      if (ip === this.subnet.gateway) ip++;
      if (ip > this.subnet.last) break;
      try {
        await tx.manager.query(`INSERT INTO ${name} (network, ip, ${holder}) VALUES (?, ?, ?)`, [
          this.network,
          ip,
          holderId,
        ]);
        return formatIp(ip);
      } catch (error) {
        if (!isDuplicate(error, 'PRIMARY')) throw error;
      }
    }
    const oldest = await this.reuse(tx, holderId, 'released_at IS NOT NULL');
    if (oldest !== null) return oldest;
    throw unavailable('network', new Error(`no address left in ${this.network}`));
  }

  async addressOf(tx: Pick<Tx, 'manager'>, holderId: string): Promise<string> {
    const { name, holder } = this.table;
    const [row] = await tx.manager.query<{ ip: string | number }[]>(`SELECT ip FROM ${name} WHERE ${holder} = ?`, [
      holderId,
    ]);
    if (!row) throw new Error(`${holderId} has no address`);
    return formatIp(Number(row.ip));
  }

  async release(tx: Tx, holderId: string): Promise<void> {
    const { name, holder } = this.table;
    await tx.manager.query(`UPDATE ${name} SET ${holder} = NULL, released_at = UTC_TIMESTAMP(3) WHERE ${holder} = ?`, [
      holderId,
    ]);
  }

  private async reuse(tx: Tx, holderId: string, condition: string): Promise<string | null> {
    const { name, holder } = this.table;
    const reused = await tx.manager.query<{ affectedRows: number }>(
      `UPDATE ${name} SET ${holder} = ?, released_at = NULL
        WHERE network = ? AND ip BETWEEN ? AND ? AND ${holder} IS NULL AND ${condition} ORDER BY released_at LIMIT 1`,
      [holderId, this.network, this.subnet.first, this.subnet.last],
    );
    return reused.affectedRows === 1 ? this.addressOf(tx, holderId) : null;
  }
}
