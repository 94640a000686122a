import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY, readJson } from './layout.mjs';
import { PROJECT_NODE } from './project.mjs';
import { settingNames } from './settings.mjs';

/** @typedef {{ projects: string[], workers: number }} Group */

/**
 * Jest projects by price. Those of a group run in one go, so that the last long file of one does not leave a processor idle.
 * `workers` files run side by side, which share nothing but the daemons of the stack: as many as keep two cores busy. They
 * wait for states much of the time, most of all where there is a real engine.
 * @type {Group[]}
 */
const GROUPS = [
  { projects: ['unit'], workers: 2 },
  { projects: ['gates', 'integration', 'contract'], workers: 6 },
  { projects: ['engine', 'e2e'], workers: 5 },
  { projects: ['engine-faults'], workers: 1 },
  { projects: ['faults'], workers: 1 },
];

/**
 * The groups of these projects, without the others.
 * @param {string[]} projects
 */
export function groupsOf(projects) {
  const groups = GROUPS.map((group) => ({
    ...group,
    projects: group.projects.filter((project) => projects.includes(project)),
  }));
  return groups.filter((group) => group.projects.length > 0);
}

/** How long Jest may take to end once its results are written; longer means that a test left something open. */
const GRACE_MS = 30_000;

/**
 * Runs the projects of one group and counts.
 * @param {Group} group
 * @param {import('./test-stack.mjs').TestStack} stack
 * @param {string[]} patterns
 * @param {number} lane 0 or 1: which of those that run side by side
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>}
 */
export async function runJest({ projects, workers }, stack, patterns, lane) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-jest-'));
  const results = join(folder, 'results.json');
  const args = [
    join('node_modules', 'jest', 'bin', 'jest.js'),
    '--selectProjects',
    ...projects,
    '--json',
    `--outputFile=${results}`,
    '--passWithNoTests',
    `--maxWorkers=${workers}`,
    '--',
    ...patterns,
  ];
  try {
    const { code, hung } = await runToEnd(args, { ...testEnvironment(stack), BERTH_TEST_LANE: String(lane) }, results);
    return count(readJson(results), code, hung, projects.join(', '));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The environment of tests: the stack's settings and none of the person's.
 * @param {import('./test-stack.mjs').TestStack} stack
 */
function testEnvironment(stack) {
  const env = { ...process.env };
  for (const name of settingNames()) delete env[name];
  // Without these Node would warn in every child a test starts.
  for (const name of ['NODE_OPTIONS', 'FORCE_COLOR', 'NO_COLOR']) delete env[name];
  return { ...env, NODE_ENV: 'test', ...stack.env };
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {string} results file that is there once the tests are done
 * @returns {Promise<{ code: number, hung: boolean }>}
 */
function runToEnd(args, env, results) {
  return new Promise((resolve, reject) => {
    // The results go to the file; what Jest prints on the way is its progress, on standard error.
    const child = spawn(PROJECT_NODE, args, { cwd: REPOSITORY, env, stdio: ['ignore', 'ignore', 'inherit'] });
    let doneAt = 0;
    let hung = false;
    const watch = setInterval(() => {
      if (doneAt === 0 && readJson(results)) doneAt = Date.now();
      if (doneAt === 0 || Date.now() - doneAt < GRACE_MS) return;
      hung = true;
      child.kill('SIGKILL');
    }, 1000);
    const forward = () => child.kill('SIGTERM');
    process.once('SIGTERM', forward);
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(watch);
      process.off('SIGTERM', forward);
      resolve({ code: code ?? 1, hung });
    });
  });
}

/**
 * @param {any} report what Jest wrote; undefined when it died before
 * @param {number} code
 * @param {boolean} hung
 * @param {string} what
 */
function count(report, code, hung, what) {
  if (!report) {
    process.stderr.write(`Jest ended with code ${code} and left no results (${what}).\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  // A file that cannot even be loaded has no tests to count.
  let failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  if (hung) {
    process.stderr.write(`The tests (${what}) left something open: Jest did not end by itself.\n`);
    failed++;
  } else if (failed === 0 && code !== 0) {
    process.stderr.write(`Jest ended with code ${code} though no test failed (${what}).\n`);
    failed++;
  }
  return { passed: report.numPassedTests, failed, skipped: report.numPendingTests + report.numTodoTests };
}
