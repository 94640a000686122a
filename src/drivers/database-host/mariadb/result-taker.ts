import type { ResultSetHeader } from 'mysql2';
import type { Cell, Column, ResultSet, SessionOptions, StatementOutcome } from '../database-host.js';

const MAX_RESULT_SETS = 5;
/** What a value costs beside its characters: the comma and the quotes. */
const CELL_OVERHEAD = 3;
/** Bits of the status that the server adds when it says that a statement is done. */
const IN_TRANSACTION = 1;
const PLAIN_BACKSLASHES = 512;
const ANSI_QUOTES = 32_768;

/** Keeps what a statement answers, up to the bounds. */
export class ResultTaker {
  private readonly sets: ResultSet[] = [];
  private current: ResultSet | undefined;
  private more = false;
  private rows = 0;
  private bytes = 0;
  private affectedRows = 0;
  private insertId: string | null = null;
  private status: number | null = null;

  constructor(private readonly bounds: Pick<SessionOptions, 'maxRows' | 'maxBytes'>) {}

  begin(columns: Column[]): void {
    this.current = { columns, rows: [], truncated: false };
    if (this.sets.length < MAX_RESULT_SETS) this.sets.push(this.current);
    else this.more = true;
    this.bytes += columns.reduce((sum, { name, type }) => sum + name.length + type.length + 20, 0);
  }

  /** Whether another row of this result is looked at. */
  wants(): boolean {
    return this.current !== undefined && !this.current.truncated && !this.more && this.rows < this.bounds.maxRows;
  }

  /** False when there is no room for it. */
  row(cells: Cell[]): boolean {
    const bytes = cells.reduce<number>((sum, cell) => sum + sizeOf(cell), CELL_OVERHEAD);
    if (this.bytes + bytes > this.bounds.maxBytes) return false;
    this.bytes += bytes;
    this.rows++;
    this.current!.rows.push(cells);
    return true;
  }

  /** The result that is coming in is not whole. */
  cut(): void {
    if (this.current) this.current.truncated = true;
  }

  changed({ affectedRows, insertId, serverStatus }: ResultSetHeader): void {
    this.affectedRows += affectedRows;
    // Unsigned, whatever the driver makes of it.
    if (Number(insertId) !== 0) this.insertId = BigInt.asUintN(64, BigInt(insertId)).toString();
    this.status = serverStatus;
  }

  outcome(): StatementOutcome {
    const { sets: resultSets, more, affectedRows, insertId, status } = this;
    return {
      resultSets,
      more,
      affectedRows,
      insertId,
      plainBackslashes: status === null ? null : (status & PLAIN_BACKSLASHES) !== 0,
      ansiQuotes: status === null ? null : (status & ANSI_QUOTES) !== 0,
      inTransaction: status === null ? null : (status & IN_TRANSACTION) !== 0,
    };
  }
}

function sizeOf(cell: Cell): number {
  return CELL_OVERHEAD + (typeof cell === 'string' ? Buffer.byteLength(cell) : 8);
}
