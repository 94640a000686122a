/**
 * `npm run bench`: brings up the test stack, runs every bench/*.mjs one after another and prints one table.
 *   -- --json       print the rows as JSON instead
 *   -- <pattern> …  only benchmarks whose file name matches
 *
 * A benchmark exports `name` and `run(ctx)`, where `ctx.env` leads to the stack; it answers rows
 * `{ what, ours, yardstick, ratio, target, unit }`, with `target` such as `<= 1.5` about the ratio, or about `ours`
 * where there is no yardstick.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runBenchmark, printTable, verdictOf } from './lib/bench.mjs';
import { REPOSITORY, layoutOf } from './lib/layout.mjs';
import { takeLock } from './lib/lock.mjs';
import { installPackages, missingBenchPackages } from './lib/packages.mjs';
import { Steps, printFailure } from './lib/terminal.mjs';
import { bringTestStack, isKept, keepTestStack, prepareTestEngine, removeTestStack } from './lib/test-stack.mjs';

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
});
// With --json, standard output holds the rows and nothing else.
const steps = new Steps(values.json ? process.stderr : process.stdout);
let failed = false;
process.on('SIGINT', () => (failed = true));

try {
  const free = takeLock(layoutOf('test'));
  const kept = isKept();
  const rows = [];
  try {
    const missing = missingBenchPackages();
    if (missing.length > 0)
      await steps.step(`Debian packages (${missing.join(', ')})`, (note) => installPackages(missing, note));
    const stack = await bringTestStack(steps, { images: true });
    await prepareTestEngine(steps, stack);
    const files = readdirSync(join(REPOSITORY, 'bench'))
      .filter((file) => file.endsWith('.mjs'))
      .filter((file) => positionals.length === 0 || positionals.some((pattern) => file.includes(pattern)));
    for (const file of files.sort()) {
      if (failed) break;
      try {
        rows.push(...(await steps.step(file, (note) => runBenchmark(file, stack.env, note))));
      } catch (error) {
        printFailure(error);
        failed = true;
      }
    }
  } finally {
    if (kept) keepTestStack(steps);
    else await removeTestStack(steps);
    free();
  }
  if (values.json)
    console.log(
      JSON.stringify(
        rows.map((row) => ({ ...row, verdict: verdictOf(row) })),
        null,
        2,
      ),
    );
  else printTable(steps, rows);
  if (failed || rows.some((row) => verdictOf(row) === 'missed')) process.exitCode = 1;
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
