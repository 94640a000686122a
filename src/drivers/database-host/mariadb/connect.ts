import { connect, isIP } from 'node:net';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { DatabaseHostError, type HostAccount, type HostAddress } from '../database-host.js';

export const CONNECT_MS = 5000;
/** Errors of a server that is going, is full, or ended our session. */
const AWAY = new Set([1040, 1053, 1080, 1158, 1159, 1160, 1161, 1205, 1927, 3169]);

/** From here on numbers mean other errors than in MySQL, whose names the driver knows. */
const OWN_NUMBERS: [from: number, to: number][] = [
  [1900, 1999],
  [3000, Infinity],
];
/** The server's own names of what tenants are told most often. */
const OWN_NAMES: Record<number, string> = {
  1901: 'ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED',
  1903: 'ER_PRIMARY_KEY_BASED_ON_GENERATED_COLUMN',
  1905: 'ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN',
  1906: 'ER_WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN',
  1911: 'ER_UNKNOWN_OPTION',
  1912: 'ER_BAD_OPTION_VALUE',
  1927: 'ER_CONNECTION_KILLED',
  1932: 'ER_NO_SUCH_TABLE_IN_ENGINE',
  1959: 'ER_INVALID_ROLE',
  1965: 'ER_IT_IS_A_VIEW',
  1969: 'ER_STATEMENT_TIMEOUT',
  1971: 'ER_SET_STATEMENT_NOT_SUPPORTED',
  1977: 'ER_CANNOT_CONVERT_CHARACTER',
  1978: 'ER_INVALID_DEFAULT_VALUE_FOR_FIELD',
  3057: 'ER_USER_LOCK_WRONG_NAME',
  3058: 'ER_USER_LOCK_DEADLOCK',
  4002: 'ER_WITH_COL_WRONG_LIST',
  4004: 'ER_DUP_QUERY_NAME',
  4005: 'ER_RECURSIVE_WITHOUT_ANCHORS',
  4015: 'ER_WRONG_PLACEMENT_OF_WINDOW_FUNCTION',
  4025: 'ER_CONSTRAINT_FAILED',
  4031: 'ER_REFERENCED_TRG_DOES_NOT_EXIST',
  4038: 'ER_JSON_SYNTAX',
  4042: 'ER_JSON_PATH_SYNTAX',
  4078: 'ER_ILLEGAL_PARAMETER_DATA_TYPES2_FOR_OPERATION',
  4079: 'ER_ILLEGAL_PARAMETER_DATA_TYPE_FOR_OPERATION',
  4084: 'ER_SEQUENCE_RUN_OUT',
  4085: 'ER_SEQUENCE_INVALID_DATA',
  4089: 'ER_NOT_SEQUENCE',
  4090: 'ER_NOT_SEQUENCE2',
  4091: 'ER_UNKNOWN_SEQUENCES',
  4092: 'ER_UNKNOWN_VIEW',
  4161: 'ER_UNKNOWN_DATA_TYPE',
  4162: 'ER_UNKNOWN_OPERATOR',
  4166: 'ER_LOAD_INFILE_CAPABILITY_DISABLED',
};

/** Options that every connection to a host has, whoever it is for. */
export function connectionOptions({ address, port, caCertificate }: HostAddress, { user, password }: HostAccount) {
  return {
    host: address,
    port,
    user,
    password,
    // As the server's own client says it.
    charset: 'utf8mb4_general_ci',
    connectTimeout: CONNECT_MS,
    multipleStatements: false,
    // Without files the server cannot ask for any of this machine's, IGNORE_SPACE changes what statements mean and FOUND_ROWS
    // counts rows as changed that are not. With SESSION_TRACK the driver follows a SET NAMES and writes the statements after
    // it in that encoding, truncating characters to bytes that end a literal; without, they stay the bytes that were given.
    flags: ['-LOCAL_FILES', '-IGNORE_SPACE', '-FOUND_ROWS', '-SESSION_TRACK'],
    // None are prepared; the driver would make room for 16,000 in each connection, half a megabyte.
    maxPreparedStatements: 1,
    ...(caCertificate === null ? {} : encrypted(address, port, caCertificate)),
  };
}

/**
 * TLS with the certificate checked against the address. The driver has that done for names only; an IP address with the dot
 * at its end that names may have counts as one, and is compared as what it is.
 */
function encrypted(address: string, port: number, ca: string) {
  const ssl = { ca, rejectUnauthorized: true, verifyIdentity: true };
  return isIP(address) === 0 ? { ssl } : { ssl, host: `${address}.`, stream: () => connect(port, address) };
}

/** Does the platform's own work on a host. What goes wrong is a `DatabaseHostError`. */
export function asAdmin<T>(host: HostAddress, work: (connection: Connection) => Promise<T>): Promise<T> {
  return asAccount(host, host, work);
}

/** The same with the rights of another account. */
export async function asAccount<T>(
  host: HostAddress,
  account: HostAccount,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  let connection: Connection | undefined;
  try {
    connection = await connected(host, account);
    return await work(connection);
  } catch (error) {
    throw hostError(error);
  } finally {
    connection?.destroy();
  }
}

export async function connected(host: HostAddress, account: HostAccount): Promise<Connection> {
  const connection = await createConnection({
    ...connectionOptions(host, account),
    supportBigNumbers: true,
    dateStrings: true,
  });
  // Some fatal errors come by this event alone; without a listener they would end the process.
  connection.on('error', () => undefined);
  try {
    await connection.query('SET SESSION lock_wait_timeout = 20, sql_mode = DEFAULT');
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

export async function rowsOf(connection: Connection, sql: string, values: unknown[] = []): Promise<RowDataPacket[]> {
  return (await connection.query<RowDataPacket[]>(sql, values))[0];
}

/** The name of an error of the server; of those that the driver would take for others of MySQL's, at least the number. */
export function errorName(errno: number, name: string | undefined): string {
  const own = OWN_NUMBERS.some(([from, to]) => errno >= from && errno <= to);
  return OWN_NAMES[errno] ?? (own || !name ? `ER_${errno}` : name);
}

/** The driver's error without what it may repeat of statements and passwords. */
export function hostError(error: unknown): Error {
  if (error instanceof DatabaseHostError) return error;
  const { errno, code, fatal } = error as { errno?: number; code?: string; fatal?: boolean };
  const said = errno === undefined ? (code ?? 'no code') : errorName(errno, code);
  if (code === 'HANDSHAKE_SSL_ERROR') {
    const why = (error as Error).message;
    return new DatabaseHostError('unavailable', `the certificate of the database host was not accepted: ${why}`);
  }
  if (errno === 1045 || errno === 1698)
    return new DatabaseHostError('denied', `the database host refused the login (${said})`);
  if (errno === 1049) return new DatabaseHostError('no_schema', 'the schema is not on the database host');
  if (errno === 1226 || errno === 1203) return new DatabaseHostError('busy', 'the account has too many sessions');
  const network = errno === undefined || errno < 1000 || AWAY.has(errno) || fatal === true;
  if (network && code !== undefined) return new DatabaseHostError('unavailable', `the database host is away (${said})`);
  if (code === undefined && fatal !== true) return error as Error;
  if (code === undefined) return new DatabaseHostError('unavailable', 'the connection to the database host was lost');
  return new DatabaseHostError('failed', `the database host refused a statement of the platform (${said})`);
}
