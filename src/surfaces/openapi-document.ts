import type { OpenAPIObject } from '@nestjs/swagger';

interface Operation {
  operationId?: string;
  parameters?: { name: string; in: string; [key: string]: unknown }[];
  requestBody?: unknown;
  responses: Record<string, unknown>;
  [extension: string]: unknown;
}
type PathItem = Record<string, Operation>;
type Schemas = Record<string, unknown>;

interface DocumentOptions {
  title: string;
  description: string;
  prefix: string;
  surface: 'public' | 'panel';
}

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

/** Cuts one surface out of everything scanned and adds what holds for all of its routes. */
export function finishDocument(
  scanned: OpenAPIObject,
  { title, description, prefix, surface }: DocumentOptions,
): object {
  const paths: Record<string, PathItem> = {};
  const ids = new Set<string>();
  for (const [path, item] of Object.entries(scanned.paths as unknown as Record<string, PathItem>).sort(byKey)) {
    if (path !== prefix && !path.startsWith(`${prefix}/`)) continue;
    const finished: PathItem = {};
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      if (ids.has(operation.operationId!)) throw new Error(`Two operations are called ${operation.operationId}.`);
      ids.add(operation.operationId!);
      finished[method] = finishOperation(operation, method, path);
    }
    if (Object.keys(finished).length > 0) paths[path.slice(prefix.length) || '/'] = finished;
  }
  const security = surface === 'public' ? 'apiKey' : 'session';
  return {
    openapi: '3.1.0',
    info: { title, description, version: '1' },
    servers: [{ url: prefix }],
    security: [{ [security]: [] }],
    tags: tagsOf(paths),
    paths,
    components: {
      securitySchemes: { [security]: SECURITY[surface] },
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: { RequestId: REQUEST_ID },
      responses: RESPONSES,
      schemas: {
        ...usedSchemas(paths, scanned.components?.schemas ?? {}),
        Problem: PROBLEM,
        FieldError: FIELD_ERROR,
      },
    },
  };
}

function finishOperation(operation: Operation, method: string, path: string): Operation {
  const { 'x-not-idempotent': notIdempotent, ...rest } = structuredClone(operation);
  const finished = rest;
  finished.parameters ??= [];
  if (method === 'post' && !notIdempotent) {
    finished.parameters.push({ $ref: '#/components/parameters/IdempotencyKey' } as never);
  }
  const problems: Record<string, unknown> = {};
  const add = (status: number): void =>
    void (problems[status] ??= { $ref: `#/components/responses/${PROBLEMS[status]!}` });
  if (finished.requestBody || finished.parameters.length > 0) add(400);
  add(401);
  add(403);
  if (path.includes('{')) add(404);
  if (method !== 'get') add(409);
  if (finished.requestBody) [413, 415].forEach(add);
  [429, 503].forEach(add);
  const successes = Object.fromEntries(
    Object.entries(finished.responses).map(([status, response]) => [status, withRequestId(response as object)]),
  );
  finished.responses = { ...problems, ...successes, default: { $ref: '#/components/responses/Failure' } };
  return finished;
}

function withRequestId(response: object): object {
  if ('$ref' in response) return response;
  const { headers } = response as { headers?: object };
  return {
    description: 'Success',
    ...nonEmpty(response),
    headers: { ...headers, 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
  };
}

function nonEmpty(response: object): object {
  return Object.fromEntries(Object.entries(response).filter(([name, value]) => name !== 'description' || value !== ''));
}

function tagsOf(paths: Record<string, PathItem>): { name: string }[] {
  const tags = Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap((operation) => (operation['tags'] as string[]) ?? []),
  );
  return [...new Set(tags)].sort().map((name) => ({ name }));
}

/** The schemas that the paths mention, and those that they mention in turn. */
function usedSchemas(paths: unknown, all: Schemas): Schemas {
  const used: Schemas = {};
  const visit = (value: unknown): void => {
    for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name! in used || !(name! in all)) continue;
      used[name!] = all[name!];
      visit(all[name!]);
    }
  };
  visit(paths);
  return Object.fromEntries(Object.entries(used).sort(byKey));
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const SECURITY = {
  public: { type: 'http', scheme: 'bearer', description: 'An API key: `svc_` and 48 hexadecimal characters.' },
  panel: { type: 'apiKey', in: 'cookie', name: '__Host-sid', description: 'The session cookie that signing in sets.' },
};

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A word of your own for this request. Sent again with the same body within a day, the first answer comes back and nothing is done twice.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
};

const REQUEST_ID = { description: 'Names this request in the logs of the platform.', schema: { type: 'string' } };

const PROBLEMS: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthenticated',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  415: 'UnsupportedMediaType',
  429: 'RateLimited',
  503: 'Unavailable',
};

const RETRY_AFTER = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } } };

function problem(description: string, headers?: object): object {
  const schema = { $ref: '#/components/schemas/Problem' };
  return {
    description,
    headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' }, ...headers },
    content: { 'application/problem+json': { schema } },
  };
}

const RESPONSES = {
  BadRequest: problem('The request does not fit its schema; `errors` names the fields.'),
  Unauthenticated: problem('No valid credential.', {
    'WWW-Authenticate': { schema: { type: 'string', const: 'Bearer' } },
  }),
  Forbidden: problem('The credential lacks a scope, or the plan a quota.'),
  NotFound: problem('The resource does not exist, or belongs to somebody else.'),
  Conflict: problem('The state of the resource does not allow this now.'),
  TooLarge: problem('The body is too large.'),
  UnsupportedMediaType: problem('The body is of another media type than the route takes.'),
  RateLimited: problem('Too many requests.', RETRY_AFTER),
  Unavailable: problem('A backing part is away.', RETRY_AFTER),
  Failure: problem('Any other failure.'),
};

const PROBLEM = {
  type: 'object',
  description: 'What went wrong (RFC 9457). Some codes have further members.',
  required: ['type', 'title', 'status', 'code', 'detail', 'instance', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'Stable machine word.' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    requestId: { type: 'string' },
    errors: { type: 'array', items: { $ref: '#/components/schemas/FieldError' } },
  },
  additionalProperties: true,
};

const FIELD_ERROR = {
  type: 'object',
  required: ['field', 'pointer', 'code', 'detail'],
  properties: {
    field: { type: 'string' },
    pointer: { type: 'string', description: 'JSON pointer to the faulty value.' },
    code: { type: 'string' },
    detail: { type: 'string' },
    meta: { type: 'object', additionalProperties: true },
  },
};
