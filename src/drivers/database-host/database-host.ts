import type { Readable } from 'node:stream';

/** How the platform reaches a server that tenants' databases live on. */
export interface HostAddress {
  address: string;
  port: number;
  /** An account that may make schemas and accounts, and end other accounts' sessions. */
  user: string;
  password: string;
  /** Certificate that the server's own must be signed by; null on this machine only, where nothing is encrypted. */
  caCertificate: string | null;
}

/** An account on a host, with its password. */
export interface HostAccount {
  user: string;
  password: string;
}

/** One schema and the two accounts that may use it, and nothing else. */
export interface HostedDatabase {
  schema: string;
  /** The hosted program's. */
  program: HostAccount;
  /** The platform's, for statements that come over the API. */
  platform: HostAccount;
}

export type DatabaseNames = { schema: string; users: readonly string[] };

export interface HostReport {
  version: string;
  /** Tells servers apart whatever address they are reached by. */
  identity: string;
  maxConnections: number;
  /** Why nothing may be put on it; empty when it is hardened as it must be. */
  faults: string[];
}

/** One column of a result. */
export interface Column {
  name: string;
  type: string;
}

/** As it goes into JSON: exact numbers and dates as text, bytes in base64. */
export type Cell = string | number | null;

export interface ResultSet {
  columns: Column[];
  rows: Cell[][];
  /** Rows were left out. */
  truncated: boolean;
}

export interface StatementOutcome {
  /** In the order they came; none for a statement that answers no rows. */
  resultSets: ResultSet[];
  /** There were more of them than are kept. */
  more: boolean;
  affectedRows: number;
  insertId: string | null;
  /** Whether a backslash in a string is a character like any other from now on; null when the server did not say. */
  plainBackslashes: boolean | null;
  /** Whether double quotes are around names and not around strings from now on; null when the server did not say. */
  ansiQuotes: boolean | null;
  /** Whether a transaction is open from now on, which is rolled back with the session; null when the server did not say. */
  inTransaction: boolean | null;
}

export interface SessionOptions {
  account: HostAccount;
  schema: string;
  /** All statements of the session together; what runs then is ended. */
  timeoutMs: number;
  /** Bounds of what is kept of the results of one statement. */
  maxRows: number;
  maxBytes: number;
  /**
   * Its statements are expected to change nothing: they are broken off as soon as there is enough of their answer. One that
   * does change something, be it in a function that it calls, runs to its end all the same, as do all after it.
   */
  breakable?: boolean;
}

/** A session of its own on a host: nothing that was set in another holds in it. */
export interface DatabaseSession {
  /** Goes to the server as the bytes of its UTF-8, whatever the session's character set has become. */
  run(sql: string): Promise<StatementOutcome>;
  /** Ends it, and what may still run in it. */
  close(): Promise<void>;
}

/** The port to one server that tenants' databases live on. Every failure is a `DatabaseHostError`. */
export abstract class DatabaseHost {
  abstract inspect(): Promise<HostReport>;

  /** Makes what the platform keeps for itself on the host. */
  abstract prepare(): Promise<void>;

  /** Makes schema and accounts, or puts right what is there of them. `owner` is who will find them by `owned`. */
  abstract provision(owner: string, database: HostedDatabase): Promise<void>;

  /** Removes accounts and schema, whatever is there of them, and ends their sessions. */
  abstract remove(names: DatabaseNames): Promise<void>;

  /** Makes the schema again after its owner dropped it; `no_schema` when it was removed for good. */
  abstract restoreSchema(schema: string): Promise<void>;

  /** Sets an account's password, and ends the sessions made with the one before. */
  abstract setPassword(account: HostAccount): Promise<void>;

  /** Takes from the accounts what makes a schema grow, or gives it back. */
  abstract setGrowth(names: DatabaseNames, allowed: boolean): Promise<void>;

  /** Schemas that were provisioned for this owner, or are half made or half removed. */
  abstract owned(owner: string): Promise<string[]>;

  /** Bytes on disk by schema; a schema that is missing is gone from the host. */
  abstract sizes(): Promise<Map<string, number>>;

  /** Ends sessions of these accounts that have been in one statement for longer than that; answers how many. */
  abstract endLongStatements(users: readonly string[], seconds: number): Promise<number>;

  /** Names of transactions that were prepared and belong to no session any more. */
  abstract preparedTransactions(): Promise<string[]>;

  /** Rolls back each that can be; answers what stands against the others, by their names. */
  abstract rollBackPrepared(names: readonly string[]): Promise<Map<string, Error>>;

  /** Logs in; a wrong password is `denied`, a schema that is gone `no_schema`. */
  abstract open(options: SessionOptions): Promise<DatabaseSession>;

  /** The schema as SQL text. Whatever of the tenant's may run for it runs with the rights of this account. */
  abstract dump(schema: string, reader: HostAccount): Promise<Readable>;
}

/** Leads to hosts. */
export abstract class DatabaseHosts {
  abstract at(address: HostAddress): DatabaseHost;
}

/**
 * - `unavailable`: away or too slow; another try may do.
 * - `busy`: the account has as many sessions as it may have.
 * - `denied`: the password is wrong.
 * - `no_schema`: the schema is not there.
 * - `timeout`: the time for the session was up.
 * - `too_much`: a statement that must run to its end answers more than is taken in.
 * - `failed`: the host refused what the platform asked for.
 */
export type DatabaseHostErrorCode = 'unavailable' | 'busy' | 'denied' | 'no_schema' | 'timeout' | 'too_much' | 'failed';

/** `message` is for operators; it holds no password and no statement. */
export class DatabaseHostError extends Error {
  constructor(
    readonly code: DatabaseHostErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'DatabaseHostError';
  }
}

/** What the server said against a tenant's own statement; the tenant is told. */
export class StatementError extends Error {
  constructor(
    readonly code: string,
    readonly errno: number,
    readonly sqlState: string,
    readonly detail: string,
  ) {
    super(code);
    this.name = 'StatementError';
  }
}
