import type { Connection } from 'mysql2/promise';
import type { Readable } from 'node:stream';
import {
  DatabaseHost,
  DatabaseHostError,
  type DatabaseNames,
  type DatabaseSession,
  type HostAccount,
  type HostAddress,
  type HostedDatabase,
  type HostReport,
  type SessionOptions,
} from '../database-host.js';
import { asAdmin, hostError, rowsOf } from './connect.js';
import { dumpOf } from './dump.js';
import { inspect } from './hardening.js';
import { MariaDbSession } from './mariadb-session.js';
import { account, grantPattern, quoted } from './names.js';

/** What the platform notes on the host itself: whose schema is whose, so that two platforms can share one. */
const REGISTRY_SCHEMA = 'berth_registry';
const REGISTRY = `\`${REGISTRY_SCHEMA}\`.hosted`;

const GROWTH = [
  'INSERT',
  'UPDATE',
  'CREATE',
  'ALTER',
  'INDEX',
  'CREATE TEMPORARY TABLES',
  'CREATE VIEW',
  'CREATE ROUTINE',
];
/**
 * All but EVENT, which would run for ever after, and GRANT OPTION. Without ALTER ROUTINE no routine could be dropped, and
 * without TRIGGER nothing be deleted from a table that has some.
 */
const PRIVILEGES = [
  'SELECT',
  'DELETE',
  'DROP',
  'REFERENCES',
  'LOCK TABLES',
  'SHOW VIEW',
  'ALTER ROUTINE',
  'EXECUTE',
  'TRIGGER',
  ...GROWTH,
];
/** Routines lie in a table that all schemas share. */
const ROUTINES = `
  SELECT db, SUM(LENGTH(param_list) + LENGTH(returns) + LENGTH(body) + COALESCE(LENGTH(body_utf8), 0) + LENGTH(comment)) AS bytes
    FROM mysql.proc GROUP BY db`;
export const PROGRAM_SESSIONS = 20;
export const PLATFORM_SESSIONS = 3;
const NO_SUCH_THREAD = 1094;
const NO_SUCH_XID = 1397;
const NO_SUCH_GRANT = 1141;

/** A MariaDB server of 10.11 or later. */
export class MariaDbHost extends DatabaseHost {
  constructor(private readonly host: HostAddress) {
    super();
  }

  override inspect(): Promise<HostReport> {
    return this.admin((connection) => inspect(connection, this.host.caCertificate !== null));
  }

  override async prepare(): Promise<void> {
    await this.admin(async (connection) => {
      await connection.query(`CREATE DATABASE IF NOT EXISTS ${REGISTRY_SCHEMA}`);
      await connection.query(`
        CREATE TABLE IF NOT EXISTS ${REGISTRY} (
          name varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
          owner varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
        ) ENGINE=InnoDB`);
    });
  }

  override async provision(owner: string, { schema, program, platform }: HostedDatabase): Promise<void> {
    await this.admin(async (connection) => {
      // First, so that nothing is ever on the host that this list does not name.
      await connection.query(`INSERT IGNORE INTO ${REGISTRY} (name, owner) VALUES (?, ?)`, [schema, owner]);
      await createSchema(connection, schema);
      for (const [{ user, password }, sessions] of [
        [program, PROGRAM_SESSIONS],
        [platform, PLATFORM_SESSIONS],
      ] as const) {
        const as = `${account(user)} IDENTIFIED BY ? WITH MAX_USER_CONNECTIONS ${sessions}`;
        await connection.query(`CREATE USER IF NOT EXISTS ${as}`, [password]);
        await connection.query(`ALTER USER ${as} ACCOUNT UNLOCK`, [password]);
        await connection.query(`GRANT ${PRIVILEGES.join(', ')} ON ${grantPattern(schema)}.* TO ${account(user)}`);
      }
    });
  }

  override async remove({ schema, users }: DatabaseNames): Promise<void> {
    await this.admin(async (connection) => {
      for (const user of users) await connection.query(`ALTER USER IF EXISTS ${account(user)} ACCOUNT LOCK`);
      await endSessions(connection, users, 0);
      await this.inTurn(schema, async (holder) => {
        for (const user of users) await connection.query(`DROP USER IF EXISTS ${account(user)}`);
        await connection.query(`DROP DATABASE IF EXISTS ${quoted(schema)}`);
        await holder.query(`DELETE FROM ${REGISTRY} WHERE name = ?`, [schema]);
      });
    });
  }

  override async restoreSchema(schema: string): Promise<void> {
    await this.inTurn(schema, async (_holder, known) => {
      // Who removes it does so for good.
      if (!known) throw new DatabaseHostError('no_schema', 'the schema was removed');
      await this.admin((connection) => createSchema(connection, schema));
    });
  }

  override async setPassword({ user, password }: HostAccount): Promise<void> {
    await this.admin(async (connection) => {
      await connection.query(`ALTER USER IF EXISTS ${account(user)} IDENTIFIED BY ?`, [password]);
      await endSessions(connection, [user], 0);
    });
  }

  override async setGrowth({ schema, users }: DatabaseNames, allowed: boolean): Promise<void> {
    const [verb, preposition] = allowed ? ['GRANT', 'TO'] : ['REVOKE', 'FROM'];
    await this.admin(async (connection) => {
      for (const user of users) {
        const sql = `${verb} ${GROWTH.join(', ')} ON ${grantPattern(schema)}.* ${preposition} ${account(user)}`;
        await connection.query(sql).catch(unless(NO_SUCH_GRANT));
      }
      // An open session goes by the grants it began with.
      if (!allowed) await endSessions(connection, users, 0);
    });
  }

  override owned(owner: string): Promise<string[]> {
    return this.admin(async (connection) => {
      const rows = await rowsOf(connection, `SELECT name FROM ${REGISTRY} WHERE owner = ?`, [owner]);
      return rows.map((row) => String(row['name']));
    });
  }

  override sizes(): Promise<Map<string, number>> {
    return this.admin(async (connection) => {
      const rows = await rowsOf(
        connection,
        `SELECT h.name, COALESCE(SUM(t.file_size), 0) + COALESCE(MAX(r.bytes), 0) AS bytes
           FROM ${REGISTRY} h JOIN information_schema.schemata s ON s.schema_name = h.name
           LEFT JOIN information_schema.innodb_sys_tablespaces t ON SUBSTRING_INDEX(t.name, '/', 1) = h.name
           LEFT JOIN (${ROUTINES}) r ON r.db = h.name
          GROUP BY h.name`,
      );
      return new Map(rows.map((row) => [String(row['name']), Number(row['bytes'])]));
    });
  }

  override endLongStatements(users: readonly string[], seconds: number): Promise<number> {
    return this.admin((connection) => endSessions(connection, users, seconds));
  }

  override preparedTransactions(): Promise<string[]> {
    return this.admin(async (connection) => {
      const rows = await rowsOf(connection, "XA RECOVER FORMAT='SQL'");
      return rows.map((row) => String(row['data']));
    });
  }

  override rollBackPrepared(names: readonly string[]): Promise<Map<string, Error>> {
    return this.admin(async (connection) => {
      const refused = new Map<string, Error>();
      for (const name of names) {
        await rollBack(connection, name).catch((error: unknown) => {
          // Without the connection there is nothing to be said of the others.
          if ((error as { fatal?: boolean }).fatal === true) throw error;
          refused.set(name, hostError(error));
        });
      }
      return refused;
    });
  }

  override open(options: SessionOptions): Promise<DatabaseSession> {
    return MariaDbSession.open(this.host, options, (threadId, how) => this.kill(threadId, how));
  }

  override dump(schema: string, reader: HostAccount): Promise<Readable> {
    return dumpOf(this.host, quoted(schema).slice(1, -1), reader);
  }

  /** Ends what a session does, or the session itself where a handler in a routine would let it go on. */
  private async kill(threadId: number, how: 'QUERY' | 'HARD CONNECTION'): Promise<void> {
    await this.admin((connection) =>
      connection.query(`KILL ${how} ${Math.trunc(threadId)}`).catch(unless(NO_SUCH_THREAD)),
    );
  }

  /**
   * Whoever makes or removes a schema does so alone, and is told whether the platform still knows it. The turn is a lock on the
   * schema's row, held by a connection of its own because what is done about schemas ends transactions. GET_LOCK would
   * not do: tenants can take any lock of the server by its name.
   */
  private inTurn(schema: string, work: (holder: Connection, known: boolean) => Promise<void>): Promise<void> {
    return this.admin(async (holder) => {
      await holder.query('SET SESSION innodb_lock_wait_timeout = 20');
      await holder.query('START TRANSACTION');
      const rows = await rowsOf(holder, `SELECT name FROM ${REGISTRY} WHERE name = ? FOR UPDATE`, [schema]);
      await work(holder, rows.length > 0);
      await holder.query('COMMIT');
    });
  }

  private admin<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return asAdmin(this.host, work);
  }
}

async function rollBack(connection: Connection, name: string): Promise<void> {
  // As the server itself writes it: hexadecimal or quoted parts, and nothing else gets through.
  if (!/^(X'[0-9a-fA-F]*'|'[^'\\]*')(,(X'[0-9a-fA-F]*'|'[^'\\]*'))?(,\d{1,10})?$/.test(name)) {
    throw new DatabaseHostError('failed', 'a prepared transaction has a name of an unknown form');
  }
  await connection.query(`XA ROLLBACK ${name}`).catch(unless(NO_SUCH_XID));
}

async function createSchema(connection: Connection, schema: string): Promise<void> {
  await connection.query(
    `CREATE DATABASE IF NOT EXISTS ${quoted(schema)} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci`,
  );
}

async function endSessions(connection: Connection, users: readonly string[], seconds: number): Promise<number> {
  if (users.length === 0) return 0;
  const busy = seconds > 0 ? "AND command <> 'Sleep' AND time_ms > ?" : '';
  const rows = await rowsOf(
    connection,
    `SELECT id FROM information_schema.processlist WHERE user IN (?) ${busy}`,
    seconds > 0 ? [[...users], seconds * 1000] : [[...users]],
  );
  for (const row of rows) {
    await connection.query(`KILL HARD CONNECTION ${Number(row['id'])}`).catch(unless(NO_SUCH_THREAD));
  }
  return rows.length;
}

/** Lets one error of the server pass: what was to be done is done already. */
function unless(errno: number): (error: unknown) => void {
  return (error) => {
    if ((error as { errno?: number }).errno !== errno) throw error;
  };
}
