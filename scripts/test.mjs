/**
 * `npm test`: sets the machine up, starts a stack of its own beside a running `up`, runs every check and test, ends
 * the stack and prints `N passed, N failed`.
 *   -- --only=check,unit,gates,integration,contract,engine,e2e,engine-faults,faults   only these; `none`: just the stack
 *   -- --keep                                                     leave the stack running for the next time
 *   -- <pattern> …                                                only test files whose path matches; no checks
 */
import { parseArgs } from 'node:util';
import { takeLock } from './lib/lock.mjs';
import { layoutOf } from './lib/layout.mjs';
import { CHECKS, runChecks } from './lib/checks.mjs';
import { groupsOf, runJest } from './lib/jest.mjs';
import { Failure, Steps, printFailure } from './lib/terminal.mjs';
import {
  bringTestStack,
  isKept,
  keepTestStack,
  mendTestStack,
  prepareTestEngine,
  removeTestStack,
} from './lib/test-stack.mjs';

const ON_ENGINE = ['engine', 'e2e', 'engine-faults', 'faults'];
/**
 * One round after the other; the lanes of a round run side by side, each with one group of stages after the other. Faults
 * mostly wait for what they took away to come back, so they have company that does without it.
 */
const ROUNDS = [
  [['gates', 'integration', 'contract'], ['engine-faults']],
  [['engine', 'e2e']],
  [['faults'], ['check', 'unit']],
];
const STAGES = ROUNDS.flat(2);
const NEEDS_DATABASE = CHECKS.filter(({ database }) => database).map(({ name }) => name);
const NEEDS_NONE = CHECKS.filter(({ database }) => !database).map(({ name }) => name);

function readOptions() {
  const { values, positionals } = parseArgs({
    options: { only: { type: 'string' }, keep: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const only = values.only?.split(',').filter(Boolean);
  const unknown = only?.filter((name) => ![...STAGES, 'none'].includes(name)) ?? [];
  if (unknown.length > 0) {
    throw new Failure(`no such stage: ${unknown.join(', ')}`, { advice: `stages: ${STAGES.join(', ')}, none` });
  }
  const all = positionals.length > 0 ? STAGES.filter((stage) => stage !== 'check') : STAGES;
  return {
    stages: only ? STAGES.filter((name) => only.includes(name)) : all,
    keep: values.keep,
    patterns: positionals,
  };
}

/**
 * @param {Steps} steps
 * @param {ReturnType<typeof readOptions>} options
 */
async function runStages(steps, { stages, patterns }) {
  const onEngine = stages.some((stage) => ON_ENGINE.includes(stage));
  const stack = await bringTestStack(steps, { images: onEngine });
  process.once('exit', () => stack.imageBuild?.abandon());
  const total = { passed: 0, failed: 0 };
  /** @param {string} what @param {() => Promise<{ passed: number, failed: number, skipped: number }>} work */
  const run = async (what, work) => {
    const started = Date.now();
    const { passed, failed, skipped } = await work();
    total.passed += passed;
    total.failed += failed;
    const aside = skipped > 0 ? `, ${skipped} skipped` : '';
    const seconds = ((Date.now() - started) / 1000).toFixed(0);
    steps.say(`   ${what}: ${passed} passed, ${failed} failed${aside} (${seconds} s)`);
  };
  /** @param {string[]} checks */
  const runCheck = (checks) => run('check', () => checkStage(steps, checks));
  /** @type {Promise<void> | undefined} */
  let engineReady;
  /** @param {string[]} lane @param {number} number */
  const runLane = async (lane, number) => {
    if (lane.includes('check')) await runCheck(NEEDS_NONE);
    for (const group of groupsOf(lane)) {
      if (interrupted) throw new Failure('interrupted');
      if (group.projects.some((stage) => ON_ENGINE.includes(stage))) {
        await (engineReady ??= prepareTestEngine(steps, stack));
      }
      await run(group.projects.join(', '), () => runJest(group, stack, patterns, number));
    }
  };
  if (stages.includes('check')) await runCheck(NEEDS_DATABASE);
  for (const round of ROUNDS) {
    const lanes = round.map((lane) => lane.filter((stage) => stages.includes(stage))).filter((lane) => lane.length > 0);
    if (lanes.length === 0) continue;
    await mendTestStack();
    steps.say(`\n== ${lanes.flat().join(', ')}`);
    // All to their ends, or the stack would be removed from under one of them.
    for (const end of await Promise.allSettled(lanes.map(runLane))) {
      if (end.status === 'rejected') throw end.reason;
    }
  }
  if (patterns.length > 0 && total.passed + total.failed === 0) {
    throw new Failure(`no test file matches ${patterns.join(', ')}`);
  }
  return total;
}

/**
 * @param {Steps} steps
 * @param {string[]} only
 */
async function checkStage(steps, only) {
  const { passed, failures } = await runChecks(steps, { only });
  for (const failure of failures) printFailure(failure);
  return { passed, failed: failures.length, skipped: 0 };
}

let interrupted = false;
// The programs that run at the moment get the signal as well; what is left is to clean up behind them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (interrupted = true));

const steps = new Steps();
const total = { passed: 0, failed: 0 };
try {
  const options = readOptions();
  const layout = layoutOf('test');
  const free = takeLock(layout);
  const kept = isKept();
  try {
    Object.assign(total, await runStages(steps, options));
  } finally {
    steps.say();
    if (options.keep || kept) keepTestStack(steps);
    else await removeTestStack(steps);
    free();
  }
} catch (error) {
  printFailure(error);
  total.failed++;
}
steps.say(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
