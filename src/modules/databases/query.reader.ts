import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { StatementError, type ResultSet, type StatementOutcome } from '../../drivers/database-host/database-host.js';
import type { Principal } from '../../platform/auth/principal.js';
import { badField, DomainError } from '../../platform/errors/domain-error.js';
import { bodyTooLarge } from '../../platform/http/body.js';
import { DatabaseEvents } from './database-events.service.js';
import { DatabaseRepository } from './database.repository.js';
import {
  MAX_IMPORT_BYTES,
  MAX_QUERY_BYTES,
  TABLE_TYPES,
  type ImportResult,
  type QueryResult,
  type ResultSetView,
  type TableView,
} from './dto/database.dto.js';
import { withoutDefiner } from './sql/definers.js';
import { masked } from './sql/masked.js';
import { sqlProblem, type Place } from './sql/sql-problem.js';
import { isBlank, isRead, StatementSplitter, type Statement } from './sql/statement-splitter.js';
import { StatementsReader } from './statements.reader.js';

const TABLES = `
  SELECT table_name, table_type, engine, table_rows, data_length + index_length
    FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name`;
/** Dumps of old servers ask for engines that are not to be had; here they get what there is. */
const FOR_DUMPS = "SET SESSION sql_mode = REPLACE(@@sql_mode, 'NO_ENGINE_SUBSTITUTION', '')";

/** What account holders run in their databases. */
@Injectable()
export class QueryReader {
  constructor(
    private readonly config: Config,
    private readonly databases: DatabaseRepository,
    private readonly statements: StatementsReader,
    private readonly events: DatabaseEvents,
  ) {}

  async tables(caller: Principal, id: string): Promise<TableView[]> {
    const placed = await this.databases.findOwned(caller.accountId, { id });
    const { resultSets } = await this.statements.inSession(
      placed,
      { timeoutMs: this.queryMs, breakable: true },
      async () => {},
      (session) => session.run(TABLES),
    );
    return (resultSets[0]?.rows ?? []).map(([name, type, engine, rows, bytes]) => ({
      name: String(name),
      type: TABLE_TYPES.find((known) => String(type).toLowerCase().includes(known)) ?? 'table',
      engine: engine === null ? null : String(engine),
      rows: rows === null ? null : Number(rows),
      bytes: bytes === null ? null : Number(bytes),
    }));
  }

  /** One statement, in a session of its own. */
  async query(caller: Principal, id: string, sql: string): Promise<QueryResult> {
    mustBeRunnable(sql, MAX_QUERY_BYTES);
    const placed = await this.databases.findOwned(caller.accountId, { id });
    const audit = () => this.events.record(caller, placed, 'server:database.query', { statement: masked(sql) });
    const wanted = { timeoutMs: this.queryMs, breakable: isRead(sql) };
    return this.statements.inSession(placed, wanted, audit, async (session) => {
      const begin = performance.now();
      const outcome = await session.run(sql).catch(refused({ number: 1, line: 1 }));
      return queryResult(outcome, begin);
    });
  }

  /**
   * All statements of a dump, in one session, up to the first that is refused: what ran before it stays, but for a
   * transaction that is open then or at the end.
   */
  async import(caller: Principal, id: string, sql: string): Promise<ImportResult> {
    mustBeRunnable(sql, MAX_IMPORT_BYTES);
    const placed = await this.databases.findOwned(caller.accountId, { id });
    const audit = () => this.events.record(caller, placed, 'server:database.import', { bytes: Buffer.byteLength(sql) });
    return this.statements.inSession(
      placed,
      { timeoutMs: this.config.databaseImportTimeoutSeconds * 1000 },
      audit,
      async (session) => {
        const begin = performance.now();
        await session.run(FOR_DUMPS);
        const splitter = new StatementSplitter(sql);
        let [statements, affectedRows, uncommitted] = [0, 0, false];
        for (let next: Statement | null; (next = splitter.next()); statements++) {
          const outcome = await session.run(withoutDefiner(next.sql)).catch(refused(next, { executed: statements }));
          affectedRows += outcome.affectedRows;
          splitter.plainBackslashes = outcome.plainBackslashes ?? splitter.plainBackslashes;
          splitter.ansiQuotes = outcome.ansiQuotes ?? splitter.ansiQuotes;
          uncommitted = outcome.inTransaction ?? uncommitted;
        }
        if (uncommitted) throw leftOpen(statements);
        return { statements, affectedRows, durationMs: Math.round(performance.now() - begin) };
      },
    );
  }

  private get queryMs(): number {
    return this.config.databaseQueryTimeoutSeconds * 1000;
  }
}

function mustBeRunnable(sql: string, maxBytes: number): void {
  if (Buffer.byteLength(sql) > maxBytes) throw bodyTooLarge(maxBytes);
  if (isBlank(sql)) throw badField('sql', 'empty_statement', 'sql must hold a statement');
}

/** Tells what the server has against a statement; anything else goes on as it is. */
function refused(place: Place, members = {}): (error: unknown) => never {
  return (error) => {
    throw error instanceof StatementError ? sqlProblem(error, place, members) : error;
  };
}

/** The session ends with the import, and the server rolls back what is not committed by then. */
function leftOpen(executed: number): DomainError {
  return new DomainError(
    'bad_request',
    'uncommitted_transaction',
    'The import left a transaction open; nothing that was changed in it is stored. End it with COMMIT.',
    { members: { executed } },
  );
}

function queryResult({ resultSets, more, affectedRows, insertId }: StatementOutcome, begin: number): QueryResult {
  const [first = { columns: [], rows: [], truncated: false }] = resultSets;
  const exact = insertId !== null && Number.isSafeInteger(Number(insertId));
  return {
    ...viewOf(first),
    truncated: first.truncated || more,
    affectedRows,
    insertId: exact ? Number(insertId) : insertId,
    durationMs: Math.round(performance.now() - begin),
    ...(resultSets.length > 1 ? { resultSets: resultSets.map(viewOf) } : {}),
  };
}

function viewOf({ columns, rows, truncated }: ResultSet): ResultSetView {
  return { columns, rows, rowCount: rows.length, truncated };
}
