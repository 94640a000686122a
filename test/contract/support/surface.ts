import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Method } from '../../support/api.js';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: string;
  [keyword: string]: unknown;
}

interface Documented {
  operationId: string;
  parameters: { name?: string; in?: string; $ref?: string; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { $ref?: string; content?: Record<string, { schema?: Schema }> }>;
  'x-required-scope'?: 'read' | 'write';
}

export interface Document {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Documented>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, unknown> };
}

export type SurfaceName = 'public' | 'panel';

/** One documented route of one surface. */
export interface Route {
  surface: SurfaceName;
  id: string;
  method: Method;
  /** Below the surface's prefix, parameters in braces. */
  path: string;
  /** Names of the path's parameters, in order. */
  params: string[];
  query: string[];
  /** Null where the route stands outside of scopes. */
  scope: 'read' | 'write' | null;
  /** The JSON body it takes, references resolved; undefined when it takes none. */
  body: Schema | undefined;
  /** The body is content of any kind. */
  stream: boolean;
  idempotent: boolean;
  /** Schemas of its documented successes, by status; null for one without a body. */
  successes: Record<string, Schema | null>;
  /** Media type of those that are no JSON, by status. */
  media: Record<string, string>;
  toString(): string;
}

export interface Surface {
  name: SurfaceName;
  prefix: string;
  document: Document;
  routes: Route[];
}

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const PRINT_ROUTES = join(import.meta.dirname, 'print-routes.mjs');

/** Both surfaces as the built platform documents them. Kept until the next build, as each spec file asks. */
export const surfaces: Record<SurfaceName, Surface> = (() => {
  const build = createHash('sha256')
    .update(readFileSync(join(REPOSITORY, 'dist', 'build.json')))
    .digest('hex');
  const kept = join(tmpdir(), `berth-contract-${build.slice(0, 24)}.json`);
  if (!existsSync(kept)) {
    const text = execFileSync(process.execPath, [PRINT_ROUTES], { encoding: 'utf8', maxBuffer: 1 << 26 });
    writeFileSync(`${kept}.${process.pid}`, text);
    renameSync(`${kept}.${process.pid}`, kept);
  }
  const documents = JSON.parse(readFileSync(kept, 'utf8')) as Record<SurfaceName, Document>;
  return { public: surfaceOf('public', documents.public), panel: surfaceOf('panel', documents.panel) };
})();

export const routes: Route[] = [...surfaces.public.routes, ...surfaces.panel.routes];
/** Routes that ask for a credential of their surface: all but the two steps of a login. */
export const scoped = routes.filter(({ scope }) => scope !== null);

/** What Express was given, as `get /api/v1/me`; `env` leads to a database and a Redis that may be used. */
export function routerOf(env: Record<string, string>): string[] {
  const text = execFileSync(process.execPath, [PRINT_ROUTES, '--router'], { env, encoding: 'utf8' });
  return JSON.parse(text) as string[];
}

/** Rows for `test.each`, each with its name. */
export function named(list: Route[]): [name: string, route: Route][] {
  return list.map((route) => [String(route), route]);
}

function surfaceOf(name: SurfaceName, document: Document): Surface {
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => routeOf(name, document, path, method, operation)),
  );
  return { name, prefix: document.servers[0]!.url, document, routes };
}

function routeOf(surface: SurfaceName, document: Document, path: string, method: string, operation: Documented): Route {
  const verb = method.toUpperCase() as Method;
  const body = operation.requestBody?.content['application/json']?.schema;
  const successes = Object.entries(operation.responses).filter(([status]) => /^2/.test(status));
  return {
    surface,
    id: operation.operationId,
    method: verb,
    path,
    params: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!),
    query: operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name!),
    scope: operation['x-required-scope'] ?? null,
    body: body && resolve(document, body),
    stream: operation.requestBody !== undefined && body === undefined,
    idempotent: operation.parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey')),
    successes: Object.fromEntries(
      successes.map(([status, { content }]) => [status, content?.['application/json']?.schema ?? null]),
    ),
    media: Object.fromEntries(
      successes.flatMap(([status, { content }]) => {
        const [type] = Object.keys(content ?? {});
        return type === undefined || type === 'application/json' ? [] : [[status, type]];
      }),
    ),
    toString: () => `${surface}: ${verb} ${path}`,
  };
}

/** The schema with its references replaced by what they mean. */
export function resolve(document: Document, schema: Schema): Schema {
  if (schema.$ref) return resolve(document, document.components.schemas[schema.$ref.split('/').at(-1)!]!);
  const { properties, items } = schema;
  return {
    ...schema,
    ...(items ? { items: resolve(document, items) } : {}),
    ...(properties
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, value]) => [name, resolve(document, value)]),
          ),
        }
      : {}),
  };
}

/** The path with these values for its parameters, in order; they are put in as they are. */
export function fill(path: string, values: readonly string[]): string {
  let next = 0;
  return path.replace(/\{\w+\}/g, () => values[next++]!) + (NAMED_BY_QUERY[path] ?? '');
}

/** The object in every bucket that the world makes, for paths that name one by their query. */
export const OBJECT_KEY = 'contract.bin';
const NAMED_BY_QUERY: Record<string, string> = {
  ...Object.fromEntries(
    ['object', 'objects', 'download'].map((what) => [`/storage/buckets/{id}/${what}`, `?key=${OBJECT_KEY}`]),
  ),
  '/seo/history': '?host=127.0.0.1',
  '/seo/audit': '?id=nothing',
};
/** They name a site by their query, and there is none of that name. */
const NAMES_NOTHING = new Set(['seo_audit']);

/** What reading an own resource answers. A route without a documented success is about something no service has yet. */
export function foundStatus(route: Route): number {
  if (NAMES_NOTHING.has(route.id)) return 404;
  return Object.keys(route.successes).length === 0 ? 404 : 200;
}
