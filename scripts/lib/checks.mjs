import { join } from 'node:path';
import { build, isBuilt } from './build.mjs';
import { withEmptySchema } from './check-database.mjs';
import { plainEnvironment } from './environment.mjs';
import { REPOSITORY, layoutOf } from './layout.mjs';
import { run } from './process.mjs';
import { PROJECT_NODE } from './project.mjs';
import { Failure } from './terminal.mjs';

/**
 * One check: programs of node_modules, or of ours, whose exit code decides.
 * @typedef {object} Check
 * @property {string} name
 * @property {string[][]} commands arguments of Node, one command after another
 * @property {string} advice
 * @property {boolean} [database] needs an empty schema
 */

const CLI = join('dist', 'src', 'cli', 'berth.js');

/**
 * @param {string} path inside node_modules
 * @param {...string} args
 */
const tool = (path, ...args) => [[join('node_modules', path), ...args]];

/** @type {Check[]} */
export const CHECKS = [
  {
    name: 'format',
    // Stacks are left out by the pattern too: whatever .prettierignore says, their folders are walked, and what is
    // being built in them may not be read.
    commands: tool('prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.', '!.berth/**', '!.berth-test/**'),
    advice: 'npm run format',
  },
  { name: 'types', commands: tool('typescript/bin/tsc', '--noEmit'), advice: 'mend what the compiler names' },
  {
    name: 'types of the scripts',
    commands: tool('typescript/bin/tsc', '--project', 'scripts/jsconfig.json'),
    advice: 'mend what the compiler names',
  },
  {
    name: 'lint',
    commands: tool('eslint/bin/eslint.js', '--max-warnings=0', '.'),
    advice: 'mend it, or try: npx eslint --fix .',
  },
  {
    name: 'import rules',
    commands: tool(
      'dependency-cruiser/bin/dependency-cruise.mjs',
      'src',
      'migrations',
      '--config',
      '.dependency-cruiser.cjs',
    ),
    advice: 'the rules and their reasons stand in .dependency-cruiser.cjs',
  },
  {
    name: 'OpenAPI drift',
    commands: [[CLI, 'openapi', '--check']],
    advice: 'npx berth openapi writes docs/openapi anew',
  },
  {
    name: 'migration drift',
    commands: [
      [CLI, 'migrate'],
      [CLI, 'migrate', '--check'],
    ],
    advice: 'entities and migrations differ: add a migration',
    database: true,
  },
];

/**
 * Runs all checks and tells every one that fails, not only the first.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {{ only?: string[] }} [options]
 * @returns {Promise<{ passed: number, failures: Failure[] }>}
 */
export async function runChecks(steps, { only = [] } = {}) {
  const wanted = CHECKS.filter((check) => only.length === 0 || only.includes(check.name));
  if (!isBuilt()) await steps.step('build', async () => `${(await build()).compiled} files compiled`);
  const failures = [];
  for (const check of wanted) {
    try {
      if (check.database) {
        await withEmptySchema(steps, (url) => steps.step(check.name, () => runCheck(check, { DATABASE_URL: url })));
      } else await steps.step(check.name, () => runCheck(check, {}));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failures.push(error);
    }
  }
  return { passed: wanted.length - failures.length, failures };
}

/**
 * @param {Check} check
 * @param {Record<string, string>} more
 */
async function runCheck({ name, commands, advice }, more) {
  // Settings of the person's shell must not decide a check.
  const env = { ...plainEnvironment(layoutOf('test')), ...more, FORCE_COLOR: '0', NO_COLOR: '1' };
  for (const args of commands) {
    await run(PROJECT_NODE, args, { cwd: REPOSITORY, env, title: name, advice, tail: 80 });
  }
}
