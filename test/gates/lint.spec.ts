import { PlantedCopy } from './support/planted-copy.js';

interface LintResult {
  filePath: string;
  messages: { ruleId: string | null; message: string }[];
}

/** What must be refused: a rule, where the violation stands, and its text. */
const VIOLATIONS: [title: string, rule: string, file: string, text: string][] = [
  [
    'a promise nobody waits for',
    '@typescript-eslint/no-floating-promises',
    'src/modules/planted/a.ts',
    'export function f(): void {\n  Promise.resolve(1);\n}\n',
  ],
  [
    'a promise as a condition',
    '@typescript-eslint/no-misused-promises',
    'src/modules/planted/b.ts',
    'export function f(p: Promise<boolean>): number {\n  if (p) return 1;\n  return 2;\n}\n',
  ],
  [
    'a switch that forgets a case',
    '@typescript-eslint/switch-exhaustiveness-check',
    'src/modules/planted/c.ts',
    "export function f(v: 'a' | 'b'): number {\n  switch (v) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}\n",
  ],
  [
    'a file that has grown too long',
    'max-lines',
    'src/modules/planted/d.ts',
    'export const x = 1;\n' + '// line\n'.repeat(400),
  ],
  [
    'the environment outside config/',
    'no-restricted-syntax',
    'src/modules/planted/e.ts',
    'export const home = process.env.HOME;\n',
  ],
  [
    'a shell by exec',
    'no-restricted-imports',
    'src/drivers/planted/f.ts',
    "export { exec } from 'node:child_process';\n",
  ],
  [
    'a shell by option',
    'no-restricted-syntax',
    'src/drivers/planted/g.ts',
    "import { spawn } from 'node:child_process';\nexport const child = spawn('ls', { shell: true });\n",
  ],
  [
    'a data source outside platform/database',
    'no-restricted-imports',
    'src/modules/planted/h.ts',
    "import { DataSource } from 'typeorm';\nexport const source = DataSource;\n",
  ],
  [
    'an injected repository',
    'no-restricted-imports',
    'src/modules/planted/i.ts',
    "import { InjectRepository } from '@nestjs/typeorm';\nexport const inject = InjectRepository;\n",
  ],
  [
    'getRepository',
    'no-restricted-syntax',
    'src/modules/planted/j.ts',
    'export const r = (m: { getRepository(): unknown }): unknown => m.getRepository();\n',
  ],
  ['a barrel', 'no-restricted-syntax', 'src/modules/planted/k.ts', "export * from 'node:path';\n"],
  ['a default export', 'no-restricted-syntax', 'src/modules/planted/l.ts', 'export default 1;\n'],
  [
    'forwardRef',
    'no-restricted-imports',
    'src/modules/planted/m.ts',
    "import { forwardRef } from '@nestjs/common';\nexport const f = forwardRef;\n",
  ],
  [
    'work left for later',
    'no-warning-comments',
    'src/modules/planted/n.ts',
    `// ${'TO'}DO: later\nexport const x = 1;\n`,
  ],
  ['console', 'no-console', 'src/modules/planted/o.ts', "console.log('x');\nexport {};\n"],
  [
    'a shell in a script',
    'no-restricted-imports',
    'scripts/planted.mjs',
    "import { execSync } from 'node:child_process';\nexecSync('ls');\n",
  ],
];

describe('lint', () => {
  let copy: PlantedCopy;
  let results: LintResult[];

  beforeAll(async () => {
    copy = new PlantedCopy();
    for (const [, , file, text] of VIOLATIONS) copy.plant(file, text);
    const { code, stdout, output } = await copy.run([
      'node_modules/eslint/bin/eslint.js',
      '--max-warnings=0',
      '--format=json',
      '.',
    ]);
    if (code !== 1) throw new Error(output);
    results = JSON.parse(stdout) as LintResult[];
  }, 120_000);

  afterAll(() => copy.remove());

  test.each(VIOLATIONS)('%s turns red', (_title, rule, file) => {
    const result = results.find(({ filePath }) => filePath.endsWith(`/${file}`));
    expect(result?.messages.map(({ ruleId }) => ruleId)).toContain(rule);
  });
});
