import {
  createConnection,
  type Connection,
  type FieldPacket,
  type Query,
  type QueryError,
  type ResultSetHeader,
} from 'mysql2';
import type { Socket } from 'node:net';
import {
  DatabaseHostError,
  StatementError,
  type Cell,
  type DatabaseSession,
  type HostAddress,
  type SessionOptions,
  type StatementOutcome,
} from '../database-host.js';
import { cellOf, columnOf, type Field } from './cells.js';
import { CONNECT_MS, connectionOptions, errorName, hostError } from './connect.js';
import { ResultTaker } from './result-taker.js';

type Kill = (threadId: number, how: 'QUERY' | 'HARD CONNECTION') => Promise<void>;
type Decoder = InstanceType<typeof TextDecoder>;

/** Between asking a statement to end and ending its session. */
const SECOND_STEP_MS = 2000;
/** Room for what the server was sending when it was told to stop. */
const TAKEN_IN_BEYOND = 16 * 1_048_576;
/** Of a statement that must not be broken off: nothing of it is kept beyond the bounds, but all of it passes through here. */
const PASSED_THROUGH = 128 * 1_048_576;
/** Of all results of a statement: the driver keeps something of each to its end, however few of them are kept here. */
const MOST_COLUMNS = 50_000;
/** What the server says of a statement before anything of it is run, when it or a function in it would change something. */
const NOT_READ_ONLY = 1792;

interface Running {
  reject(error: Error): void;
  taker: ResultTaker;
  /** Answers with what has come so far; undefined where the statement must run to its end. */
  enough: (() => void) | undefined;
  received: number;
}

/** One connection for one request. mysql2 reports some fatal errors on the connection only, never to the query. */
export class MariaDbSession implements DatabaseSession {
  private running: Running | undefined;
  private lost: Error | undefined;
  private timedOut = false;
  /** The server refuses changes, so that what runs may be broken off and nothing is rolled back by that. */
  private readOnly: boolean;
  /** Settled when the host has been told to end what was broken off. */
  private broken: Promise<void> | undefined;
  private readonly timers: NodeJS.Timeout[] = [];

  private constructor(
    private readonly connection: Connection,
    private readonly options: SessionOptions,
    private readonly kill: Kill,
  ) {
    this.readOnly = options.breakable ?? false;
    connection.on('error', (error: Error) => this.fail(error));
    this.timers.push(
      setTimeout(() => {
        this.timedOut = true;
        if (!this.running) this.fail(new Error('the time is up'));
        void kill(connection.threadId, 'QUERY').catch(() => undefined);
      }, options.timeoutMs),
      setTimeout(() => {
        this.fail(new Error('the time is up'));
        this.breakOff();
      }, options.timeoutMs + SECOND_STEP_MS),
    );
  }

  static open(host: HostAddress, options: SessionOptions, kill: Kill): Promise<MariaDbSession> {
    return new Promise((resolve, reject) => {
      const connection = createConnection({
        ...connectionOptions(host, options.account),
        database: options.schema,
        rowsAsArray: true,
        // Values come as the server's bytes and are read by their column here; nothing is compiled from a tenant's names.
        typeCast: false,
        disableEval: true,
        supportBigNumbers: true,
        bigNumberStrings: true,
        dateStrings: true,
      });
      connection.on('error', () => undefined);
      const opened = (error: Error | null): void => {
        if (!error) return resolve(new MariaDbSession(connection, options, kill));
        connection.destroy();
        reject(hostError(error));
      };
      connection.connect((error) => {
        if (error || !options.breakable) opened(error);
        else connection.query({ sql: 'SET SESSION TRANSACTION READ ONLY', timeout: CONNECT_MS }, opened);
      });
    });
  }

  async run(sql: string): Promise<StatementOutcome> {
    try {
      return await this.attempt(sql);
    } catch (error) {
      if (!this.readOnly || !(error instanceof StatementError) || error.errno !== NOT_READ_ONLY) throw error;
    }
    this.readOnly = false;
    await this.attempt('SET SESSION TRANSACTION READ WRITE');
    return this.attempt(sql);
  }

  private attempt(sql: string): Promise<StatementOutcome> {
    if (this.lost) return Promise.reject(this.lost);
    return new Promise((resolve, reject) => {
      const taker = new ResultTaker(this.options);
      const settle = (finish: () => void): void => {
        this.running = undefined;
        stopCounting();
        finish();
      };
      const finish = (): void => settle(() => resolve(taker.outcome()));
      const enough = this.readOnly ? () => (finish(), this.breakOff()) : undefined;
      this.running = { reject: (error) => settle(() => reject(error)), taker, enough, received: 0 };
      const stopCounting = this.countBytes();
      const query = this.connection.query({ sql, rowsAsArray: true, typeCast: false });
      this.listen(query, taker, enough);
      query.on('error', (error: Error) => this.refuse(error));
      query.on('end', () => {
        if (this.running?.taker !== taker) return;
        // Some statements that are told to end do so as if all were well.
        if (this.timedOut) this.fail(new Error('the time is up'));
        else finish();
      });
    });
  }

  async close(): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    if (this.running) this.fail(new DatabaseHostError('unavailable', 'the session is closed'));
    if (this.broken) return this.broken;
    if (this.lost) this.connection.destroy();
    else this.connection.end(() => undefined);
    this.lost ??= new DatabaseHostError('unavailable', 'the session is closed');
  }

  /**
   * The server does not notice that nobody listens any more: it would go on to the last row. The driver only says that it has
   * nothing more to send, and would take in all that comes until then.
   */
  private breakOff(): void {
    this.lost ??= new DatabaseHostError('unavailable', 'the session is closed');
    this.broken ??= this.kill(this.connection.threadId, 'HARD CONNECTION').catch(() => undefined);
    this.connection.destroy();
    this.stream.destroy();
  }

  private listen(query: Query, taker: ResultTaker, enough: (() => void) | undefined): void {
    let fields: Field[] = [];
    let decoders: (Decoder | null)[] = [];
    let columns = 0;
    query.on('fields', (given: FieldPacket[] | undefined) => {
      // The driver holds on to this array to the end of the statement, and its columns to the pieces of the answer they came in.
      fields.length = 0;
      columns += given?.length ?? 0;
      if (columns > MOST_COLUMNS) {
        if (this.running?.taker === taker) this.tooMuch();
        return;
      }
      fields = (given ?? []) as unknown as Field[];
      decoders = (given ?? []).map(decoderOf);
      if (given) taker.begin(fields.map(columnOf));
    });
    query.on('result', (given: (Buffer | null)[] | ResultSetHeader) => {
      if (!Array.isArray(given)) {
        taker.changed(given);
        return;
      }
      const cell = (field: Field, index: number): Cell => {
        const [bytes, decoder] = [given[index] ?? null, decoders[index]];
        return cellOf(field, bytes && decoder ? Buffer.from(decoder.decode(bytes)) : bytes);
      };
      const fits = taker.wants() && taker.row(fields.map(cell));
      if (!fits) {
        taker.cut();
        if (this.running?.taker === taker) enough?.();
      }
    });
  }

  /** A single row may be larger than all that is to be kept, so bytes are counted as they come. */
  private countBytes(): () => void {
    const { stream } = this;
    const count = (chunk: Buffer): void => {
      const { running } = this;
      if (!running) return;
      running.received += chunk.length;
      if (running.enough && running.received > this.options.maxBytes + TAKEN_IN_BEYOND) {
        running.taker.cut();
        running.enough();
      } else if (running.received > PASSED_THROUGH) {
        this.tooMuch();
      }
    };
    stream.prependListener('data', count);
    return () => stream.removeListener('data', count);
  }

  private get stream(): Socket {
    return (this.connection as unknown as { stream: Socket }).stream;
  }

  private tooMuch(): void {
    this.fail(new DatabaseHostError('too_much', 'a statement that must run to its end answers too much'));
    this.breakOff();
  }

  /** The server has something against the statement. */
  private refuse(error: Error): void {
    const { errno, sqlState, sqlMessage, code, fatal } = error as Partial<QueryError & { sqlMessage: string }>;
    if (this.timedOut || fatal === true || errno === undefined || sqlMessage === undefined) {
      this.fail(error);
      return;
    }
    const said = new StatementError(errorName(errno, code), errno, sqlState ?? 'HY000', sqlMessage);
    this.running?.reject(said);
  }

  /** The session is over. */
  private fail(error: Error): void {
    this.lost ??= this.timedOut ? new DatabaseHostError('timeout', 'the time is up') : lostBy(error);
    const { lost, running } = this;
    if (running) running.reject(lost);
  }
}

/** Cells are read as UTF-8; a routine may have had the server answer in another character set. */
function decoderOf({ encoding }: FieldPacket): Decoder | null {
  if (encoding === undefined || encoding === 'utf8' || encoding === 'binary') return null;
  try {
    return new TextDecoder(encoding);
  } catch {
    return null;
  }
}

function lostBy(error: Error): Error {
  const known = hostError(error);
  if (known instanceof DatabaseHostError) return known;
  return new DatabaseHostError('unavailable', 'the session broke', { cause: error });
}
