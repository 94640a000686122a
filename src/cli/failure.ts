/** An error whose message is for the operator, as it stands. */
export class CommandFailure extends Error {}

/** One line on what went wrong. Errors of the database say what kind they are, never the statement or the address. */
export function explain(error: unknown): string {
  const { message, code, detail, extra } = (error ?? {}) as Partial<Error> & {
    code?: string;
    detail?: string;
    extra?: { errors?: { detail: string }[] };
  };
  const faults = extra?.errors?.map((fault) => fault.detail) ?? [];
  if (faults.length > 0) return oneLine(faults.join(' '));
  if (detail !== undefined) return oneLine(detail);
  if (code === 'ER_NO_SUCH_TABLE') return 'the database has no schema yet; run `berth migrate`';
  if (code?.startsWith('ER_ACCESS_DENIED') || code?.startsWith('ER_DBACCESS_DENIED'))
    return 'the database refused the login';
  if (code?.startsWith('ER_')) return `the database refused the statement (${code})`;
  if (code !== undefined && /^E[A-Z]+$|^PROTOCOL_/.test(code)) return `a backing part cannot be reached (${code})`;
  return oneLine(message ?? 'something went wrong');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
