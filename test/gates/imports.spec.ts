import { PlantedCopy } from './support/planted-copy.js';

interface Cruise {
  summary: { violations: { rule: { name: string }; from: string }[] };
}

/** Rule → file that breaks it, and its text. */
const VIOLATIONS: Record<string, [file: string, text: string]> = {
  'no-cycle': ['src/platform/planted/a.ts', "import './b.js';\nexport const a = 1;\n"],
  resolvable: ['src/platform/planted/lost.ts', "import './nowhere.js';\n"],
  'no-development-dependency': ['src/platform/planted/dev.ts', "import 'supertest';\n"],
  'source-not-tests': ['src/platform/planted/tests.ts', "import '../../../test/planted.js';\n"],
  'swagger-for-documents': ['src/platform/planted/documented.ts', "import '@nestjs/swagger';\n"],
  'config-alone': ['src/config/planted.ts', "import '../platform/planted/plain.js';\n"],
  'platform-below': ['src/platform/planted/up.ts', "import '../../modules/planted/planted.service.js';\n"],
  'drivers-alone': ['src/drivers/planted/planted.ts', "import '../../platform/database/planted.js';\n"],
  'drivers-without-sql': ['src/drivers/planted/speaking.ts', "import 'mysql2';\n"],
  'module-by-its-services': ['src/modules/planted/other.ts', "import '../planted2/planted2.entity.js';\n"],
  'controllers-only-services': ['src/modules/planted/planted.controller.ts', "import './planted.repository.js';\n"],
  'controllers-no-entities': [
    'src/modules/planted/planted.routes.ts',
    "import { Planted } from './planted.entity.js';\nnew Planted();\n",
  ],
  'adapters-composed-only': [
    'src/modules/planted/planted.worker.ts',
    "import '../../drivers/planted/adapter/adapter.js';\n",
  ],
  'drivers-from-workers': ['src/modules/planted/driving.ts', "import '../../drivers/planted/port.js';\n"],
  'services-without-workers': ['src/modules/planted/planted.service.ts', "import './planted.worker.js';\n"],
  'node-outside-the-platform': ['src/node/planted.ts', "import '../platform/database/planted.js';\n"],
  'modules-below-surfaces': ['src/modules/planted/surfacing.ts', "import '../../surfaces/planted.js';\n"],
  'composition-on-top': ['src/surfaces/composing.ts', "import '../roles/planted.js';\n"],
};

const TARGETS: Record<string, string> = {
  'src/platform/planted/b.ts': "import './a.js';\n",
  'src/platform/planted/plain.ts': 'export {};\n',
  'src/platform/database/planted.ts': 'export {};\n',
  'src/modules/planted/planted.repository.ts': 'export {};\n',
  'src/modules/planted/planted.entity.ts': 'export class Planted {}\n',
  'src/modules/planted2/planted2.entity.ts': 'export {};\n',
  'src/drivers/planted/port.ts': 'export {};\n',
  'src/drivers/planted/adapter/adapter.ts': 'export {};\n',
  'src/surfaces/planted.ts': 'export {};\n',
  'src/roles/planted.ts': 'export {};\n',
  'test/planted.ts': 'export {};\n',
};

describe('import rules', () => {
  let copy: PlantedCopy;
  let found: Cruise['summary']['violations'];
  let rules: string[];

  beforeAll(async () => {
    copy = new PlantedCopy('src', 'migrations');
    for (const [file, text] of Object.entries(TARGETS)) copy.plant(file, text);
    for (const [file, text] of Object.values(VIOLATIONS)) copy.plant(file, text);
    const tool = 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs';
    const cruise = [tool, 'src', 'migrations', '--config', '.dependency-cruiser.cjs'];
    expect((await copy.run(cruise)).code).not.toBe(0);
    const { stdout } = await copy.run([...cruise, '--output-type', 'json']);
    found = (JSON.parse(stdout) as Cruise).summary.violations;
    const list = await copy.run([
      '--print',
      "require('./.dependency-cruiser.cjs').forbidden.map((rule) => rule.name).join()",
    ]);
    rules = list.stdout.trim().split(',');
  }, 120_000);

  afterAll(() => copy.remove());

  test('each rule has a planted violation here', () => {
    expect(Object.keys(VIOLATIONS).sort()).toEqual([...rules].sort());
  });

  test.each(Object.entries(VIOLATIONS))('%s turns red', (rule, [file]) => {
    expect(found).toContainEqual(
      expect.objectContaining({ from: file, rule: expect.objectContaining({ name: rule }) }),
    );
  });
});
