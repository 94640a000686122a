import type { Command } from 'commander';

type Row = Readonly<Record<string, unknown>>;

/** Prints what a command found: JSON with `--json`, else a table of the columns named, or `name  value` lines. */
export function print(command: Command, result: Row | readonly Row[], columns?: readonly string[]): void {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  if (json) return write(JSON.stringify(result, null, 2));
  if (Array.isArray(result)) return write(table(result as readonly Row[], columns));
  write(pairs(result as Row));
}

function table(rows: readonly Row[], columns: readonly string[] = Object.keys(rows[0] ?? {})): string {
  if (rows.length === 0) return '(none)';
  const cells = [columns.map(heading), ...rows.map((row) => columns.map((column) => text(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]!.length)));
  return cells
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function pairs(row: Row): string {
  const width = Math.max(...Object.keys(row).map((name) => heading(name).length));
  return Object.entries(row)
    .map(([name, value]) => `${heading(name).padEnd(width)}  ${text(value)}`)
    .join('\n');
}

function heading(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase();
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(text).join(',');
  const plain = typeof value === 'string' ? value : JSON.stringify(value);
  // Names are the tenants': nothing in them may drive the operator's terminal.
  return plain.replace(/\p{C}/gu, '?');
}

function write(lines: string): void {
  process.stdout.write(`${lines}\n`);
}
