import { DomainError } from '../../../platform/errors/domain-error.js';

/** What a server said against a statement. */
export interface Refusal {
  code: string;
  errno: number;
  sqlState: string;
  detail: string;
}

/** Which of several statements it was, and the line it begins on; both from 1. */
export interface Place {
  number: number;
  line: number;
}

const SYNTAX = 1064;
const PATH = /(?:\.|~)?(?:\/[\w.@#$+-]+){2,}/g;

/** The 400 for a statement that the server refused, in the server's words. */
export function sqlProblem({ code, errno, sqlState, detail }: Refusal, place: Place, members = {}): DomainError {
  const message = isAboutFiles(errno) ? detail.replace(PATH, '…') : detail;
  const line = place.line + (errno === SYNTAX ? lineWithin(detail) - 1 : 0);
  const sql = { code, errno, sqlState, message, statement: place.number, line };
  return new DomainError('bad_request', 'sql_error', message, { members: { sql, ...members } });
}

/** Of a syntax error the server tells the line in the statement. */
function lineWithin(detail: string): number {
  return Number(/ at line (\d{1,9})$/.exec(detail)?.[1] ?? 1);
}

/** Such messages name the server's own files. */
function isAboutFiles(errno: number): boolean {
  return errno < 1000 || (errno >= 1004 && errno <= 1036) || [1085, 1086, 1105, 1290, 1877].includes(errno);
}
