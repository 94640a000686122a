import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Jest runs in CommonJS mode (its ESM mode breaks on a require cycle in @nestjs/throttler), so SWC turns our modules
 * and those packages that are ESM only into CommonJS.
 */
const swc = [
  '@swc/jest',
  {
    swcrc: false,
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      target: 'es2024',
      keepClassNames: true,
    },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  },
];

/** Names of the installed packages that are ESM. */
function esmPackages() {
  const root = join(import.meta.dirname, 'node_modules');
  const names = readdirSync(root).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(root, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  return names.filter((name) => {
    try {
      return JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8')).type === 'module';
    } catch {
      return false;
    }
  });
}

const shared = {
  testEnvironment: 'node',
  transform: { '^.+\\.(ts|mjs|js)$': swc },
  transformIgnorePatterns: [`/node_modules/(?!(?:${esmPackages().join('|')})/)`],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  // Not the whole folder: what stacks and image builds keep in it changes meanwhile.
  roots: ['<rootDir>/src', '<rootDir>/test'],
  setupFiles: ['reflect-metadata'],
};

/** One jest project; scripts/lib/jest.mjs says which of them `npm test` runs together. */
const project = (name, testMatch, more = {}) => ({
  ...shared,
  ...more,
  displayName: name,
  rootDir: import.meta.dirname,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
});

const onRealParts = { setupFilesAfterEnv: ['<rootDir>/test/support/real-parts.ts'] };

/** @type {import('jest').Config} */
export default {
  testTimeout: 30_000,
  testSequencer: './test/support/sequencer.cjs',
  projects: [
    project('unit', ['src/**/*.spec.ts']),
    project('gates', ['test/gates/**/*.spec.ts']),
    project('integration', ['test/integration/**/*.spec.ts'], onRealParts),
    project('contract', ['test/contract/**/*.spec.ts'], onRealParts),
    project('engine', ['test/engine/**/*.spec.ts'], onRealParts),
    project('e2e', ['test/e2e/**/*.spec.ts'], onRealParts),
    // What takes the engine away, from under everybody who uses it.
    project('engine-faults', ['test/engine-faults/**/*.spec.ts'], onRealParts),
    // The same with all daemons of the stack.
    project('faults', ['test/faults/**/*.spec.ts'], onRealParts),
  ],
};
