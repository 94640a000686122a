import {
  createConnection,
  type Connection,
  type FieldPacket,
  type Query,
  type QueryError,
  type ResultSetHeader,
} from 'mysql2';
import {
  DatabaseHostError,
  StatementError,
  type DatabaseSession,
  type HostAddress,
  type SessionOptions,
  type StatementOutcome,
} from '../database-host.js';
import { cellOf, columnOf, type Field } from './cells.js';
import { connectionOptions, hostError } from './connect.js';
import { ResultTaker } from './result-taker.js';

type Kill = (threadId: number, how: 'QUERY' | 'HARD CONNECTION') => Promise<void>;

/** Between asking a statement to end and ending its session. */
const SECOND_STEP_MS = 2000;
/** Room for what the server was sending when it was told to stop. */
const TAKEN_IN_BEYOND = 16 * 1_048_576;
/** Of a statement that must not be broken off: nothing of it is kept beyond the bounds, but all of it passes through here. */
const PASSED_THROUGH = 128 * 1_048_576;
const PLAIN_BACKSLASHES = 512;

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
  /** Settled when the host has been told to end what was broken off. */
  private broken: Promise<void> | undefined;
  private readonly timers: NodeJS.Timeout[] = [];

  private constructor(
    private readonly connection: Connection,
    private readonly options: SessionOptions,
    private readonly kill: Kill,
  ) {
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
      connection.connect((error) => {
        if (!error) return resolve(new MariaDbSession(connection, options, kill));
        connection.destroy();
        reject(hostError(error));
      });
    });
  }

  run(sql: string, breakable = false): Promise<StatementOutcome> {
    if (this.lost) return Promise.reject(this.lost);
    return new Promise((resolve, reject) => {
      const taker = new ResultTaker(this.options);
      const settle = (finish: () => void): void => {
        this.running = undefined;
        stopCounting();
        finish();
      };
      const finish = (): void => settle(() => resolve(taker.outcome()));
      const enough = breakable ? () => (finish(), this.breakOff()) : undefined;
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

  /** The server does not notice that nobody listens any more: it would go on to the last row. */
  private breakOff(): void {
    this.lost ??= new DatabaseHostError('unavailable', 'the session is closed');
    this.broken ??= this.kill(this.connection.threadId, 'HARD CONNECTION').catch(() => undefined);
    this.connection.destroy();
  }

  private listen(query: Query, taker: ResultTaker, enough: (() => void) | undefined): void {
    let fields: Field[] = [];
    query.on('fields', (given: FieldPacket[] | undefined) => {
      fields = (given ?? []) as unknown as Field[];
      if (given) taker.begin(fields.map(columnOf));
    });
    query.on('result', (given: (Buffer | null)[] | ResultSetHeader) => {
      if (!Array.isArray(given)) {
        taker.changed(given, (given.serverStatus & PLAIN_BACKSLASHES) !== 0);
        return;
      }
      const fits = taker.wants() && taker.row(fields.map((field, index) => cellOf(field, given[index] ?? null)));
      if (!fits) {
        taker.cut();
        if (this.running?.taker === taker) enough?.();
      }
    });
  }

  /** A single row may be larger than all that is to be kept, so bytes are counted as they come. */
  private countBytes(): () => void {
    const { stream } = this.connection as unknown as { stream: NodeJS.ReadableStream };
    const count = (chunk: Buffer): void => {
      const { running } = this;
      if (!running) return;
      running.received += chunk.length;
      if (running.enough && running.received > this.options.maxBytes + TAKEN_IN_BEYOND) {
        running.taker.cut();
        running.enough();
      } else if (running.received > PASSED_THROUGH) {
        this.fail(new DatabaseHostError('too_much', 'a statement that must run to its end answers too much'));
        this.breakOff();
      }
    };
    stream.prependListener('data', count);
    return () => stream.removeListener('data', count);
  }

  /** The server has something against the statement. */
  private refuse(error: Error): void {
    const { errno, sqlState, sqlMessage, code, fatal } = error as Partial<QueryError & { sqlMessage: string }>;
    if (this.timedOut || fatal === true || errno === undefined || sqlMessage === undefined) {
      this.fail(error);
      return;
    }
    const said = new StatementError(code ?? 'ER_UNKNOWN', errno, sqlState ?? 'HY000', sqlMessage);
    this.running?.reject(said);
  }

  /** The session is over. */
  private fail(error: Error): void {
    this.lost ??= this.timedOut ? new DatabaseHostError('timeout', 'the time is up') : lostBy(error);
    const { lost, running } = this;
    if (running) running.reject(lost);
  }
}

function lostBy(error: Error): Error {
  const known = hostError(error);
  if (known instanceof DatabaseHostError) return known;
  return new DatabaseHostError('unavailable', 'the session broke', { cause: error });
}
