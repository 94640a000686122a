import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { plainEnvironment } from './environment.mjs';
import { REPOSITORY, layoutOf, readJson } from './layout.mjs';
import { run } from './process.mjs';
import { PROJECT_NODE } from './project.mjs';
import { Failure } from './terminal.mjs';

/**
 * @typedef {object} Row
 * @property {string} what
 * @property {number} ours
 * @property {number | null} yardstick
 * @property {number | null} ratio
 * @property {string} target such as `<= 1.5`
 * @property {string} unit
 */

/** Loads one benchmark in a Node of its own, so that none starts on the heap of another. */
const RUNNER = `
const [file, results] = process.argv.slice(1);
const { writeFileSync } = await import('node:fs');
const benchmark = await import(file);
console.log(benchmark.name);
const rows = await benchmark.run({ env: JSON.parse(process.env.BENCH_STACK) });
writeFileSync(results, JSON.stringify(rows));
process.exit(0);
`;

/**
 * @param {string} file in bench/
 * @param {Record<string, string>} env that leads to the stack
 * @param {(text: string) => void} note
 * @returns {Promise<Row[]>}
 */
export async function runBenchmark(file, env, note) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  try {
    const results = join(folder, 'rows.json');
    const address = pathToFileURL(join(REPOSITORY, 'bench', file)).href;
    await run(PROJECT_NODE, ['--input-type=module', '--eval', RUNNER, address, results], {
      cwd: REPOSITORY,
      env: { ...plainEnvironment(layoutOf('test')), BENCH_STACK: JSON.stringify(env) },
      title: `bench/${file}`,
      onLine: note,
      tail: 40,
    });
    const rows = readJson(results);
    if (!Array.isArray(rows)) throw new Failure(`bench/${file} answered no rows`);
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Whether a row holds its target.
 * @param {Row} row
 * @returns {'held' | 'missed' | ''}
 */
export function verdictOf({ ours, ratio, target }) {
  const [, sign, text] = /^([<>]=)\s*([\d.]+)/.exec(target ?? '') ?? [];
  if (!sign) return '';
  const value = ratio ?? ours;
  const holds = sign === '<=' ? value <= Number(text) : value >= Number(text);
  return holds ? 'held' : 'missed';
}

/**
 * @param {import('./terminal.mjs').Steps} steps
 * @param {Row[]} rows
 */
export function printTable(steps, rows) {
  const figure = (/** @type {number | null | undefined} */ value) => {
    if (value === null || value === undefined) return '-';
    return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
  };
  const head = ['what', 'ours', 'yardstick', 'unit', 'ratio', 'target', ''];
  const lines = rows.map((row) => [
    row.what,
    figure(row.ours),
    figure(row.yardstick),
    row.unit,
    figure(row.ratio),
    row.target ?? '',
    verdictOf(row),
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => (line[column] ?? '').length)),
  );
  const NUMERIC = [1, 2, 4];
  const format = (/** @type {string[]} */ line) =>
    line
      .map((cell, column) =>
        NUMERIC.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ');
  steps.say();
  for (const line of [head, widths.map((width) => '-'.repeat(width)), ...lines]) steps.say(format(line).trimEnd());
}
