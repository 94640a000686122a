import prettier from 'eslint-config-prettier';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

const typescript = ['src/**/*.ts', 'migrations/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'];

const CHILD_PROCESS = {
  message: 'Programs are run by argument array: spawn or execFile.',
  importNames: ['exec', 'execSync'],
};
const FORBIDDEN_IMPORTS = [
  { name: 'node:child_process', ...CHILD_PROCESS },
  { name: 'child_process', ...CHILD_PROCESS },
  { name: '@nestjs/common', importNames: ['forwardRef'], message: 'Break the cycle instead.' },
];
const DATABASE_IMPORTS = [
  {
    name: 'typeorm',
    importNames: ['DataSource', 'Repository', 'getRepository', 'getManager'],
    message: 'Use Database and its transactions.',
  },
  { name: '@nestjs/typeorm', message: 'Use Database and its transactions.' },
];
const FORBIDDEN_SYNTAX = [
  { selector: 'Property[key.name="shell"]:not([value.value=false])', message: 'No process is run through a shell.' },
  {
    selector:
      'CallExpression[callee.property.name=/^(exec|execSync)$/][callee.object.name=/^(child_process|childProcess|cp)$/]',
    message: CHILD_PROCESS.message,
  },
  { selector: 'ExportAllDeclaration', message: 'No barrels: import from the file that declares it.' },
  { selector: 'ExportDefaultDeclaration', message: 'Exports have names.' },
];
const ENVIRONMENT = [
  { selector: 'MemberExpression[object.name="process"][property.name="env"]', message: 'Settings come from Config.' },
];
const REPOSITORIES = [
  { selector: 'CallExpression[callee.property.name="getRepository"]', message: 'Use Database.manager or Tx.manager.' },
];

/** Text comes from strangers, and one pattern that tries too many ways holds up everybody. */
const LINEAR_PATTERNS = {
  'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
  'regexp/no-super-linear-move': 'error',
};

export default tseslint.config(
  { plugins: { regexp } },
  { ignores: ['node_modules/', 'dist/', 'coverage/', '.berth/', '.berth-test/', 'images/*/rootfs/'] },
  {
    files: typescript,
    extends: [tseslint.configs.recommendedTypeChecked, prettier],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      ...LINEAR_PATTERNS,
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
      'no-restricted-imports': ['error', { paths: FORBIDDEN_IMPORTS }],
      'no-restricted-syntax': ['error', ...FORBIDDEN_SYNTAX],
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'anywhere' }],
      'prefer-const': 'error',
      'no-var': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      // Interfaces of Nest and of our own ports ask for promises.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true, allow: [{ from: 'lib', name: ['URL', 'URLSearchParams'] }] },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/**/*.spec.ts', 'src/cli/**'],
    rules: { 'no-console': 'error' },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/config/**', 'src/**/*.spec.ts'],
    rules: { 'no-restricted-syntax': ['error', ...FORBIDDEN_SYNTAX, ...ENVIRONMENT, ...REPOSITORIES] },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/platform/database/**', 'src/cli/**', 'src/**/*.spec.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: [...FORBIDDEN_IMPORTS, ...DATABASE_IMPORTS] }] },
  },
  {
    // Tests look into places that are typed `any`: bodies, rows, mocks.
    files: ['**/*.spec.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      // What they read is their own.
      'regexp/no-super-linear-backtracking': 'off',
      'regexp/no-super-linear-move': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['scripts/**/*.mjs', 'images/**/*.mjs', 'bench/**/*.mjs'],
    extends: [prettier],
    rules: {
      ...LINEAR_PATTERNS,
      'max-lines': ['error', 400],
      'no-restricted-imports': ['error', { paths: FORBIDDEN_IMPORTS }],
      'no-restricted-syntax': ['error', ...FORBIDDEN_SYNTAX.slice(0, 3)],
      'no-undef': 'off',
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'anywhere' }],
      'prefer-const': 'error',
    },
  },
);
