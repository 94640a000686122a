import { connect, isIP } from 'node:net';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { DatabaseHostError, type HostAccount, type HostAddress } from '../database-host.js';

const CONNECT_MS = 5000;
/** Errors of a server that is going, is full, or ended our session. */
const AWAY = new Set([1040, 1053, 1080, 1158, 1159, 1160, 1161, 1205, 1927, 3169]);

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
    // Without files the server cannot ask for any of this machine's; the other changes what statements mean.
    flags: ['-LOCAL_FILES', '-IGNORE_SPACE'],
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
export async function asAdmin<T>(host: HostAddress, work: (connection: Connection) => Promise<T>): Promise<T> {
  let connection: Connection | undefined;
  try {
    connection = await createConnection({
      ...connectionOptions(host, host),
      supportBigNumbers: true,
      dateStrings: true,
    });
    // Some fatal errors come by this event alone; without a listener they would end the process.
    connection.on('error', () => undefined);
    await connection.query('SET SESSION lock_wait_timeout = 20, sql_mode = DEFAULT');
    return await work(connection);
  } catch (error) {
    throw hostError(error);
  } finally {
    connection?.destroy();
  }
}

export async function rowsOf(connection: Connection, sql: string, values: unknown[] = []): Promise<RowDataPacket[]> {
  return (await connection.query<RowDataPacket[]>(sql, values))[0];
}

/** The driver's error without what it may repeat of statements and passwords. */
export function hostError(error: unknown): Error {
  if (error instanceof DatabaseHostError) return error;
  const { errno, code, fatal } = error as { errno?: number; code?: string; fatal?: boolean };
  const said = code ?? 'no code';
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
