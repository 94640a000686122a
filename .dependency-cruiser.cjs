/**
 * Who may import whom. Each rule is proven by test/gates: one planted violation turns the check red.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const spec = '\\.spec\\.ts$';

module.exports = {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: { path: '^src/' }, to: { circular: true } },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-development-dependency',
      comment: 'What runs in production is a dependency, not a development dependency.',
      severity: 'error',
      from: { path: '^(src|migrations)/', pathNot: spec },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'source-not-tests',
      severity: 'error',
      from: { path: '^(src|migrations)/', pathNot: spec },
      to: { path: `^(test|bench|scripts)/|${spec}` },
    },
    {
      name: 'swagger-for-documents',
      comment: 'Only what makes the OpenAPI documents loads @nestjs/swagger; routes and fields annotate without it.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/surfaces/openapi\\.ts$', '^src/platform/http/openapi-annotations\\.ts$'] },
      to: { path: '(^|/)node_modules/@nestjs/swagger/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-alone',
      comment: 'config/ imports nothing of ours.',
      severity: 'error',
      from: { path: '^src/config/', pathNot: spec },
      to: { path: '^src/', pathNot: '^src/config/' },
    },
    {
      name: 'platform-below',
      comment: 'The technical kernel knows no module, driver, role or surface.',
      severity: 'error',
      from: { path: '^src/platform/', pathNot: spec },
      to: { path: '^src/(modules|drivers|roles|surfaces|node|broker|cli)/' },
    },
    {
      name: 'drivers-alone',
      comment: 'Drivers know no module, no database, no queue.',
      severity: 'error',
      from: { path: '^src/drivers/', pathNot: spec },
      to: {
        path: '^src/(modules|roles|surfaces|node|broker|cli|platform/(database|operations|queue|events|redis|http|auth))/|(^|/)node_modules/(typeorm|bull|ioredis|@nestjs/(typeorm|bull))/',
      },
    },
    {
      name: 'drivers-without-sql',
      comment: "Only the way to the hosts of tenants' databases speaks SQL.",
      severity: 'error',
      from: { path: '^src/drivers/', pathNot: [spec, '^src/drivers/database-host/'] },
      to: { path: '(^|/)node_modules/mysql2/' },
    },
    {
      name: 'module-by-its-services',
      comment: 'A module reaches another only through its *.module.ts, its services and its guards.',
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/', pathNot: spec },
      to: {
        path: '^src/modules/([^/]+)/',
        pathNot: ['^src/modules/$1/', '^src/modules/.+\\.(module|service|guard)\\.ts$'],
      },
    },
    {
      name: 'controllers-only-services',
      comment: 'Controllers and routes touch no repository, entity, driver, database or queue.',
      severity: 'error',
      from: { path: '\\.(routes|controller)\\.ts$' },
      to: {
        path: '\\.(repository|worker)\\.ts$|^src/drivers/|^src/platform/(database|queue|operations/(operation-runner|operation-store|sweeper))|(^|/)node_modules/(typeorm|bull|@nestjs/(typeorm|bull))/',
      },
    },
    {
      name: 'controllers-no-entities',
      comment: 'Rows never leave a service as they are.',
      severity: 'error',
      from: { path: '\\.(routes|controller)\\.ts$' },
      to: { path: '\\.entity\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'adapters-composed-only',
      comment: 'Only composition (roles, command line, tests) names an adapter; everybody else names the port.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/drivers/', '^src/roles/', '^src/cli/', spec] },
      to: { path: '^src/drivers/[^/]+/[^/]+/' },
    },
    {
      name: 'drivers-from-workers',
      comment: 'Only workers (and what works for them in lifecycle/) change the outside; a reader looks at it.',
      severity: 'error',
      from: { path: '^src/modules/', pathNot: ['\\.(worker|reader)\\.ts$', '/lifecycle/', spec] },
      to: { path: '^src/drivers/' },
    },
    {
      name: 'services-without-workers',
      comment: 'A service leaves work to the queue; it calls no worker.',
      severity: 'error',
      from: { path: '^src/modules/.+\\.(service|repository|entity|dto)\\.ts$', pathNot: '/lifecycle/' },
      to: { path: '\\.worker\\.ts$|/lifecycle/', pathNot: '\\.entity\\.ts$' },
    },
    {
      name: 'node-outside-the-platform',
      comment: 'A node has no database, no queue, no modules: what is broken into there reveals only what runs there.',
      severity: 'error',
      from: { path: '^src/(node|broker)/', pathNot: spec },
      to: {
        path: '^src/(modules|surfaces|roles|cli|platform/(database|operations|queue|events|redis))/|(^|/)node_modules/(typeorm|mysql2|bull|ioredis|@nestjs/(typeorm|bull))/',
      },
    },
    {
      name: 'modules-below-surfaces',
      severity: 'error',
      from: { path: '^src/modules/', pathNot: spec },
      to: { path: '^src/(surfaces|roles|cli|node|broker)/' },
    },
    {
      name: 'composition-on-top',
      comment: 'Nothing but main.ts and the command line imports a role.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/roles/', '^src/main\\.ts$', '^src/cli/', spec] },
      to: { path: '^src/roles/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|\\.berth|\\.berth-test)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
