import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Answer } from '../../support/api.js';
import type { Berth } from '../../support/app.js';
import { surfaces, type Route, type Schema, type Surface } from './surface.js';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

/** Fields that no answer ever has, but where the contract says so. */
const HIDDEN_FIELDS =
  /^(hashed_?key|password(_?hash)?|token(_?hash)?|secret|private_?key|node_?id|account_?id|active_?key|lease_?\w+|session_?\w*|cipher\w*|stack|sql)$/i;

/** Where the contract shows one of them: the one field that is allowed, by operation. */
const SHOWN: Record<string, string> = {
  settings_get: 'password',
  dbConnection_get: 'password',
  sftp_rotatePassword: 'password',
  console_open: 'token',
  lxc_console: 'token',
  serverVault_token: 'token',
};

/** Value of a sealed secret that everybody has: no answer of any route shows it. */
export const HIDDEN_VALUE = 'canary-4f1c9b7de0a2-of-a-sealed-secret';

/** What only source code, a database or a stack trace would say. */
const INSIDES = [
  /\n\s+at [\w.<>]+ \(/,
  /node_modules|\bdist\/src\b|\.(ts|js):\d+/,
  /\b(SELECT|INSERT|UPDATE|DELETE)\b[^"]{1,200}\b(FROM|INTO|SET|WHERE)\b/,
  /\bER_[A-Z_]{4,}|QueryFailedError|EntityNotFound|TypeORM|MariaDB|mysql|ioredis|ECONNREFUSED|ENOENT|TypeError|RangeError/i,
  /lxd|\/var\/|\/etc\/|unix\.socket/,
];

const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/);
ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
ajv.addFormat('uri', (text: string) => URL.canParse(text));
for (const surface of Object.values(surfaces))
  ajv.addSchema({ $id: surface.name, components: closed(surface.document.components) });

/** By the schema itself: what is made anew for each answer would be compiled for each. */
const validators = new Map<Schema, ValidateFunction>();
const PROBLEM: Schema = { $ref: '#/components/schemas/Problem' };

const routes = Object.values(surfaces).flatMap((surface) =>
  surface.routes.map((route) => ({
    of: [surface, route] as [Surface, Route],
    pattern: new RegExp(`^${(surface.prefix + route.path).replace(/\{\w+\}/g, '[^/]+')}/?$`, 'i'),
  })),
);

/** From now on every answer that anybody gets of this platform is held against what is true of all answers. */
export function holdInvariants(berth: Berth): void {
  const secrets = secretsOf(berth.env);
  berth.watch = (answer) => {
    const broken = faultsOf(answer, secrets);
    if (broken.length > 0)
      throw new Error(`${answer.request} (${answer.status}): ${broken.join('; ')}\n${answer.text.slice(0, 2000)}`);
  };
}

function faultsOf(answer: Answer, secrets: readonly string[]): string[] {
  const { status } = answer;
  // Lines of a stack stand in JSON as one line.
  const text = answer.text.replaceAll('\\n', '\n').replaceAll('\\/', '/');
  const faults: string[] = [];
  const must = (holds: boolean, fault: string): void => void (holds || faults.push(fault));
  must(/^\S{8,64}$/.test(answer.header('x-request-id') ?? ''), 'no X-Request-Id');
  must(answer.header('x-powered-by') === undefined, 'tells what it runs on');
  must(answer.header('x-content-type-options') === 'nosniff', 'lets browsers guess the media type');
  must(status < 500, 'a fault of the platform');
  must(status !== 401 || answer.header('www-authenticate') === 'Bearer', 'WWW-Authenticate is not Bearer');
  const said = decoded(text);
  for (const inside of INSIDES)
    must(!inside.test(said) || isDocumentation(answer) || isAboutSql(answer), `shows insides: ${inside.source}`);
  must(!text.includes(HIDDEN_VALUE), 'shows the value of a sealed secret');
  for (const secret of secrets) must(!text.includes(secret), 'holds a secret of the platform');
  if (!answer.request.startsWith('HEAD ')) {
    if (status >= 400) faults.push(...problemFaults(answer));
    else if (status < 300) faults.push(...successFaults(answer));
  }
  return faults;
}

/** With what tokens say, instead of their letters: any word may be found in those. */
function decoded(text: string): string {
  const token = /\beyJ[\w-]+\.([\w-]+)\.[\w-]+/g;
  return text.replace(token, (_, claims: string) => Buffer.from(claims, 'base64url').toString());
}

function problemFaults(answer: Answer): string[] {
  if (answer.mediaType !== 'application/problem+json') return [`media type is ${answer.mediaType}`];
  const { body } = answer;
  const faults = schemaFaults(surfaces.public, PROBLEM, body);
  const path = answer.request.split(' ')[1]!.split(/[?#]/)[0]!;
  if (body.status !== answer.status) faults.push('status of body and answer differ');
  if (body.requestId !== answer.header('x-request-id')) faults.push('requestId is not the header');
  if (body.instance !== path.slice(0, 512)) faults.push(`instance is ${body.instance}`);
  if (body.type !== `urn:berth:problem:${body.code}`) faults.push(`type is ${body.type}`);
  if (!/^[a-z][a-z_]{2,40}$/.test(body.code)) faults.push(`code is ${body.code}`);
  if (answer.header('cache-control') !== 'no-store') faults.push('may be cached');
  return faults;
}

function successFaults(answer: Answer): string[] {
  const found = routeOf(answer.request);
  if (!found) return [];
  const [surface, route] = found;
  if (!(answer.status in route.successes)) return [`${answer.status} is not documented`];
  const media = route.media[answer.status];
  if (media) return answer.mediaType === media ? [] : [`media type is ${answer.mediaType}`];
  const schema = route.successes[answer.status];
  if (!schema) return answer.text === '' ? [] : ['has a body where none is documented'];
  if (answer.mediaType !== 'application/json') return [`media type is ${answer.mediaType}`];
  return [
    ...schemaFaults(surface, schema, answer.body),
    ...hiddenFields(answer.body, SHOWN[route.id]).map((name) => `shows ${name}`),
    ...(answer.header('cache-control') === 'no-store' ? [] : ['may be cached']),
  ];
}

/** The documented route that a request was for. */
function routeOf(request: string): [Surface, Route] | undefined {
  const [method, target] = request.split(' ') as [string, string];
  const path = target.split('?')[0]!;
  return routes.find(({ of, pattern }) => of[1].method === method && pattern.test(path))?.of;
}

function schemaFaults(surface: Surface, schema: Schema, body: unknown): string[] {
  let validate = validators.get(schema);
  if (!validate) {
    const text = JSON.stringify(closed(schema)).replaceAll('"#/components', `"${surface.name}#/components`);
    validators.set(schema, (validate = ajv.compile(JSON.parse(text) as object)));
  }
  if (validate(body)) return [];
  return validate.errors!.map(
    ({ instancePath, message, params }) => `${instancePath || 'body'} ${message} ${JSON.stringify(params)}`,
  );
}

/** The same schema with every object closed that lists its fields: a field nobody documented is a fault. */
function closed<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    const { type, properties, additionalProperties } = (value ?? {}) as Schema;
    const open = type === 'object' && properties !== undefined && additionalProperties === undefined;
    return open ? { ...(value as object), unevaluatedProperties: false } : value;
  }) as T;
}

function hiddenFields(value: unknown, shown: string | undefined): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const own = !Array.isArray(value) && name !== shown && HIDDEN_FIELDS.test(name) ? [name] : [];
    return [...own, ...hiddenFields(inner, shown)];
  });
}

/** Pages and documents of the public API talk about the platform by their nature. */
function isDocumentation(answer: Answer): boolean {
  return /^GET \/(docs|api\/v1\/openapi\.json|panel\/api\/openapi\.json)/.test(answer.request);
}

/** Databases are the tenants' own: their address and what their server says are shown. */
function isAboutSql(answer: Answer): boolean {
  return /\/(db-connection|export)\b/.test(answer.request) || answer.body?.code === 'sql_error';
}

function secretsOf(env: Record<string, string>): string[] {
  const names = ['SESSION_SECRET', 'PASSWORD_KEY', 'NODE_TOKEN', 'DEVELOPMENT_PASSWORD', 'MASTER_KEY'];
  const files = names.map((name) => env[`${name}_FILE`]!);
  const urls = [env['DATABASE_URL']!, env['REDIS_URL']!].map((url) => decodeURIComponent(new URL(url).password));
  const contents = files.map((file) => readFileSync(file, 'utf8').trim());
  return [...contents, ...urls, env['OIDC_CLIENT_SECRET']!, REPOSITORY].filter((secret) => secret !== '');
}
