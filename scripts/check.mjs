/**
 * `npm run check`: format, types, lint, import rules, OpenAPI and migration drift.
 *   -- --only="lint,import rules"    only these
 */
import { parseArgs } from 'node:util';
import { runChecks } from './lib/checks.mjs';
import { prepareMachine } from './lib/machine.mjs';
import { Steps, printFailure } from './lib/terminal.mjs';

const steps = new Steps();
try {
  const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
  await prepareMachine(steps, { engine: false, images: false });
  const { passed, failures } = await runChecks(steps, { only: values.only.split(',').filter(Boolean) });
  for (const failure of failures) printFailure(failure);
  steps.say(`\n${passed} checks passed, ${failures.length} failed`);
  if (failures.length > 0) process.exitCode = 1;
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
