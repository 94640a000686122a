import type { RowDataPacket } from 'mysql2';
import type { Connection } from 'mysql2/promise';
import type { HostReport } from '../database-host.js';

type Variables = ReadonlyMap<string, string>;

const MEBIBYTE = 1_048_576;

/** What a server must be set to before strangers may log in to it, and why it is not. */
const RULES: [variable: string, holds: (value: string) => boolean, fault: string][] = [
  ['local_infile', (value) => value === 'OFF', 'local_infile is on'],
  ['secure_file_priv', (value) => value !== '', 'secure_file_priv names no folder'],
  ['have_symlink', (value) => value === 'DISABLED', 'symbolic links are on (skip-symbolic-links is missing)'],
  ['enforce_storage_engine', (value) => value === 'InnoDB', 'enforce_storage_engine is not InnoDB'],
  ['event_scheduler', (value) => value === 'DISABLED', 'event_scheduler is not DISABLED'],
  ['skip_name_resolve', (value) => value === 'ON', 'skip_name_resolve is off'],
  ['max_user_connections', (value) => Number(value) > 0, 'max_user_connections has no bound'],
  ['max_allowed_packet', (value) => Number(value) <= 16 * MEBIBYTE, 'max_allowed_packet is above 16 MiB'],
  ['tmp_disk_table_size', (value) => Number(value) <= 65_536 * MEBIBYTE, 'tmp_disk_table_size has no bound'],
  ['max_session_mem_used', (value) => Number(value) <= 4096 * MEBIBYTE, 'max_session_mem_used has no bound'],
  // What tenants put into temporary tables and transactions lies in files of all of them, which no database's size counts.
  [
    'innodb_temp_data_file_path',
    (value) => !/:autoextend$/i.test(value),
    'innodb_temp_data_file_path has no bound (:max:)',
  ],
  ['innodb_undo_log_truncate', (value) => value === 'ON', 'innodb_undo_log_truncate is off'],
  ['innodb_max_undo_log_size', (value) => Number(value) <= 1024 * MEBIBYTE, 'innodb_max_undo_log_size is above 1 GiB'],
  ['skip_grant_tables', (value) => value !== 'ON', 'grants are not looked at (skip_grant_tables)'],
];

/** Plugins by which a tenant would reach other servers, or files. */
const REACHING_OUT = ['FEDERATED', 'CONNECT', 'SPIDER', 'S3', 'OQGRAPH', 'FEDERATEDX'];

export async function inspect(connection: Connection, encrypted: boolean): Promise<HostReport> {
  const variables = await variablesOf(connection);
  const faults = RULES.filter(([name, holds]) => !holds(variables.get(name) ?? '')).map(([, , fault]) => fault);
  if (encrypted && variables.get('have_ssl') !== 'YES') faults.push('it offers no encryption');
  faults.push(...(await reachingPlugins(connection)), ...(await openAccounts(connection)));
  return {
    version: variables.get('version') ?? '',
    identity: ['hostname', 'datadir', 'pid_file'].map((name) => variables.get(name) ?? '').join(' '),
    maxConnections: Number(variables.get('max_connections') ?? 0),
    faults,
  };
}

async function variablesOf(connection: Connection): Promise<Variables> {
  const [rows] = await connection.query<RowDataPacket[]>('SHOW GLOBAL VARIABLES');
  return new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]));
}

async function reachingPlugins(connection: Connection): Promise<string[]> {
  const [rows] = await connection.query<RowDataPacket[]>(
    "SELECT plugin_name AS name FROM information_schema.plugins WHERE plugin_status = 'ACTIVE' AND plugin_name IN (?)",
    [REACHING_OUT],
  );
  return rows.map((row) => `the plugin ${String(row['name'])} is active`);
}

/** Anybody could log in by these, or do by them what is not granted to their own account. */
async function openAccounts(connection: Connection): Promise<string[]> {
  const [accounts] = await connection.query<RowDataPacket[]>("SELECT COUNT(*) AS n FROM mysql.user WHERE User = ''");
  const [grants] = await connection.query<RowDataPacket[]>(
    "SELECT COUNT(*) AS n FROM mysql.db WHERE User IN ('', 'PUBLIC')",
  );
  return [
    ...(Number(accounts[0]!['n']) > 0 ? ['it has accounts without a name'] : []),
    ...(Number(grants[0]!['n']) > 0 ? ['it grants something to everybody'] : []),
  ];
}
