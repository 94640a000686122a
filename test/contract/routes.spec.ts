import { Controller, Get, Module, Post, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { readFileSync } from 'node:fs';
import { Client } from 'undici';
import { ApiKeyStrategy } from '../../src/platform/auth/api-key.strategy.js';
import { RefusalLimiter } from '../../src/platform/auth/authenticators.js';
import { PanelApi } from '../../src/platform/auth/panel-api.decorator.js';
import { PublicApi } from '../../src/platform/auth/public-api.decorator.js';
import { RouteCheck } from '../../src/platform/auth/route-check.js';
import { Scope, Unscoped } from '../../src/platform/auth/scope.decorator.js';
import type { Api, Method } from '../support/api.js';
import { PANEL_HEADERS, startBerth, type Berth, type TestAccount } from '../support/app.js';
import { holdInvariants } from './support/invariants.js';
import { routerOf, routes, scoped, surfaces, type Route } from './support/surface.js';

let berth: Berth;
let account: TestAccount;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'] });
  holdInvariants(berth);
  account = await berth.makeAccount();
});
afterAll(() => berth?.close());

/** What stands outside of both documents, and why it may. */
const OUTSIDE = [
  'get /health',
  'get /health/live',
  'get /health/ready',
  'get /docs',
  'get /docs/:file',
  'get /api/v1/openapi.json',
  'get /panel/api/openapi.json',
  'get /panel',
  'get /panel/panel.js',
  'post /internal/node/report',
  'get /internal/node/firewall',
  'post /internal/node/sftp/login',
  'post /internal/node/instances/:name/ended',
  'post /internal/node/instances/:name/stopped',
  'post /internal/node/sessions',
  'post /internal/node/vault/reads',
  'post /internal/node/vault/served',
  'get /vault/v1/secrets',
  'get /vault/v1/env',
  'post /internal/node/activity',
  'post /internal/node/servers/:id/power',
];

test('the router has the documented routes, those that stand outside, and no other', () => {
  const gate = /^\w[\w-]* \/panel\/api\{\/\*path\}$/;
  const given = routerOf(berth.env).filter((route) => !gate.test(route));
  const documented = routes.map(
    ({ surface, method, path }) =>
      `${method.toLowerCase()} ${surfaces[surface].prefix}${path.replace(/\{(\w+)\}/g, ':$1').replace(/\/$/, '')}`,
  );
  expect(given.sort()).toEqual([...documented, ...OUTSIDE].sort());
});

test('only the two steps of a login stand outside of scopes; GET asks for read, the rest for write', () => {
  expect(routes.filter((route) => route.scope === null).map(String)).toEqual([
    'panel: GET /auth/callback',
    'panel: GET /auth/login',
  ]);
  expect(scoped.filter(({ method, scope }) => scope !== (method === 'GET' ? 'read' : 'write')).map(String)).toEqual([]);
});

test('every route of the public surface is one of the panel, with the same body and the same answers', () => {
  const shape = ({ id, method, path, query, scope, body, idempotent, successes }: (typeof routes)[number]) => ({
    ...{ id, method, path, query, scope, body, idempotent, successes },
  });
  const panel = surfaces.panel.routes.map(shape);
  for (const route of surfaces.public.routes) expect(panel).toContainEqual(shape(route));
});

test('the routes of the contract that exist so far answer with its statuses', () => {
  const status = Object.fromEntries(
    surfaces.public.routes.map((route) => [String(route), Object.keys(route.successes)]),
  );
  expect(status).toMatchObject({
    'public: GET /me': ['200'],
    'public: GET /servers': ['200'],
    'public: POST /servers': ['201'],
    'public: GET /servers/{id}': ['200'],
    'public: DELETE /servers/{id}': ['204'],
    'public: GET /servers/{id}/resources': ['200'],
    'public: GET /servers/{id}/startup': ['200'],
    'public: PATCH /servers/{id}/variables/{key}': ['200'],
    'public: GET /servers/{id}/activity': ['200'],
    'public: POST /servers/{id}/power': ['202'],
    'public: PATCH /servers/{id}/resources': ['200'],
    'public: PUT /servers/{id}/startup/container-image': ['200'],
    'public: POST /servers/{id}/reinstall': ['202'],
    'public: POST /servers/{id}/retry': ['202'],
  });
});

describe('a route whose access nobody declared does not boot', () => {
  const boot = async (controller: Type): Promise<void> => {
    const parts = [ApiKeyStrategy, RefusalLimiter].map((provide) => ({ provide, useValue: {} }));
    @Module({ controllers: [controller], providers: [RouteCheck, ...parts] })
    class SmallModule {}
    const app = await NestFactory.create(SmallModule, { logger: false, abortOnError: false });
    await app.init().finally(() => app.close());
  };

  test('without a scope on the public surface', async () => {
    @PublicApi('small')
    class SmallController {
      @Get() @Scope('read') read(): void {}
      @Post() write(): void {}
    }
    await expect(boot(SmallController)).rejects.toThrow(/SmallController\.write/);
  });

  test('without a scope on the panel, inherited', async () => {
    abstract class SmallRoutes {
      @Get() read(): void {}
    }
    @PanelApi('small')
    class SmallController extends SmallRoutes {}
    await expect(boot(SmallController)).rejects.toThrow(/SmallController\.read/);
  });

  test('with a scope, but outside of both surfaces', async () => {
    @Controller('small')
    class SmallController {
      @Get() @Scope('read') read(): void {}
    }
    await expect(boot(SmallController)).rejects.toThrow(/SmallController\.read/);
  });

  test('with its access declared, it is not the check that stops it', async () => {
    @Controller('small')
    @Unscoped('nothing is behind it')
    class SmallController {
      @Get() read(): void {}
    }
    await expect(boot(SmallController)).resolves.toBeUndefined();
  });
});

describe('listeners serve their own routes only', () => {
  const odd = (path: string): string[] => [
    path,
    `${path}/`,
    `/${path}`,
    `//internal.invalid${path}`,
    path.toUpperCase(),
    path.replace(/^\/(.)/, (_, first: string) => `/%${first.charCodeAt(0).toString(16)}`),
    path.slice(0, 1) + path.slice(1).replace('/', '//'),
    path.slice(0, 1) + path.slice(1).replace('/', '%2f'),
    path.slice(0, 1) + path.slice(1).replace('/', '\\'),
    `/health/..${path}`,
    `/health/%2e%2e${path}`,
    `${path};x=1`,
    `${path}?x=1`,
  ];

  const ask = async (origin: string, method: string, path: string, token: string): Promise<Reply> => {
    const body = method === 'POST' ? '{"agentVersion":"2.33.0","instances":[]}' : null;
    return send(origin, method, path, { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body);
  };

  const nodeToken = (): string => readFileSync(berth.env['NODE_TOKEN_FILE']!, 'utf8').trim();

  test('the public one has nothing internal, by no spelling, not even for a node', async () => {
    const nowhere = await berth.anonymous.with({}).send('POST', '/../../nowhere');
    for (const path of [
      ...odd('/internal/node/report'),
      ...odd('/internal/node/instances/srv-x/ended'),
      '/internal',
      '/internal/',
    ]) {
      const { status, text } = await ask(berth.baseUrl, 'POST', path, nodeToken());
      expect([path, status]).toEqual([path, 404]);
      expect(JSON.parse(text)).toMatchObject({
        code: nowhere.body.code,
        detail: nowhere.body.detail,
        title: nowhere.body.title,
      });
    }
    expect(await berth.database.query('SELECT last_seen_at AS seen FROM nodes')).toEqual([{ seen: null }]);
  });

  test('the private one has the internal routes', async () => {
    expect(await ask(berth.internalUrl, 'POST', '/internal/node/report', account.key)).toMatchObject({ status: 401 });
    expect(await ask(berth.internalUrl, 'POST', '/internal/node/report', nodeToken())).toMatchObject({ status: 200 });
  });

  test('the private one has nothing public, by no spelling', async () => {
    const paths = ['/api/v1/me', '/panel/api/me', '/health', '/docs', '/panel', '/api/v1/openapi.json'].flatMap(
      (path) => [
        ...odd(path),
        `/internal/..${path}`,
        `/internal/%2e%2e${path}`,
        `/internal${path}`,
        `/internal/${path}`,
      ],
    );
    for (const path of paths) {
      for (const token of [account.key, nodeToken()]) {
        const { status } = await ask(berth.internalUrl, 'GET', path, token);
        expect([path, status]).toEqual([path, 404]);
      }
    }
  });

  test('metrics are for operators: on their listener and on no other', async () => {
    expect((await ask(berth.operatorUrl, 'GET', '/metrics', '')).text).toContain('# TYPE ');
    for (const origin of [berth.baseUrl, berth.internalUrl]) {
      for (const path of odd('/metrics'))
        expect([path, (await ask(origin, 'GET', path, account.key)).status]).toEqual([path, 404]);
    }
    for (const path of odd('/api/v1/me'))
      expect((await ask(berth.operatorUrl, 'GET', path, account.key)).status).toBe(404);
  });
});

describe('a method that a path does not know is a 405 that names those it knows', () => {
  const METHODS: Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  const LOGIN = ['/auth/login', '/auth/callback'];
  let panel: Api;
  beforeAll(async () => {
    panel = await berth.signIn(account);
  });

  const pathOf = ({ path }: Route): string => path.replace(/\{\w+\}/g, 'nothing');
  const patternOf = ({ path }: Route): RegExp => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
  const table = Object.values(surfaces).flatMap(({ name, routes: all }) =>
    [...new Set(all.map(pathOf))].map((path): [string, string, string[]] => {
      const known = new Set<string>(all.filter((route) => patternOf(route).test(path)).map(({ method }) => method));
      if (known.has('GET')) known.add('HEAD');
      return [name, path, [...known].sort()];
    }),
  );

  test.each(table)('%s: %s', async (name, path, known) => {
    for (const method of METHODS.filter((one) => !known.includes(one))) {
      const answer = await (name === 'panel' ? panel : account.api).send(method, path);
      expect([method, answer.status, answer.header('allow')]).toEqual([method, 405, known.join(', ')]);
      if (method !== 'HEAD') expect(answer.body).toMatchObject({ code: 'method_not_allowed' });
      if (name === 'public' || LOGIN.includes(path)) continue;
      const { status, headers } = await berth.client('/panel/api', PANEL_HEADERS).send(method, path);
      expect([method, status, headers['allow']]).toEqual([method, 401, undefined]);
    }
  });

  test('a path that nobody has stays a 404', async () => {
    for (const method of METHODS) {
      for (const api of [account.api, panel]) {
        const answer = await api.send(method, '/nowhere/at/all');
        expect([method, answer.status, answer.header('allow')]).toEqual([method, 404, undefined]);
      }
    }
  });

  test('a record that nobody has stays a 404', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE'] as const) {
      for (const api of [account.api, panel])
        (await api.send(method, '/servers/srv_01j9z6m3k4v5w6x7y8z9a0b1c2')).expect(404);
    }
  });
});

describe('a key ends at a moment that exists', () => {
  const TIMES = ['', 'T00:00Z', 'T23:59:59Z', 'T12:00:00.5Z', 'T00:00+14:00', 'T23:59:59.999-12:00'];
  let panel: Api;
  beforeAll(async () => {
    panel = await berth.signIn(account);
  });

  test.each(['2031-02-29', '2031-02-30', '2031-02-31', '2100-02-29', '2031-04-31', '2031-12-32', '2031-06-00'])(
    '%s is no day',
    async (day) => {
      for (const time of TIMES) {
        const { body } = (await panel.post('/keys', { expiresAt: day + time })).expect(400);
        expect(body.errors).toEqual([expect.objectContaining({ field: 'expiresAt', code: 'date' })]);
      }
    },
  );

  test.each(['2032-02-29', '2031-12-31', '2031-04-30'])('%s is one', async (day) => {
    for (const time of TIMES) {
      const { body } = (await panel.post('/keys', { expiresAt: day + time })).expect(201);
      expect(body.expiresAt).toBe(new Date(day + time).toISOString());
    }
  });
});

test.each(['TRACE', 'PROPFIND', 'OPTIONS'])('%s is nothing anybody may do', async (method) => {
  for (const path of ['/api/v1/me', '/panel/api/me', '/internal/node/report']) {
    const { status, text } = await send(berth.baseUrl, method, path, { authorization: `Bearer ${account.key}` });
    expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    expect(text).not.toContain(account.key);
  }
});

interface Reply {
  status: number;
  text: string;
}

/** A request as it is given, however odd its path is. */
async function send(
  origin: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: string | null = null,
): Promise<Reply> {
  const client = new Client(origin);
  try {
    const answer = await client.request({ method: method, path, headers, body });
    return { status: answer.statusCode, text: await answer.body.text() };
  } finally {
    await client.destroy();
  }
}
