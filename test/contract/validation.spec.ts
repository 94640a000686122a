import { startBerth, type Berth } from '../support/app.js';
import { holdInvariants } from './support/invariants.js';
import { edgesOf, faultsOf, sampleBody } from './support/samples.js';
import { named, scoped, surfaces, type Route } from './support/surface.js';
import { World, type Person } from './support/world.js';

let berth: Berth;
let world: World;
let person: Person;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'] });
  holdInvariants(berth);
  world = new World(berth);
  person = await world.person();
});
afterAll(() => berth?.close());

/** Validation comes before every look-up, so records that do not exist will do. */
const missing = (route: Route): string[] => world.kindsOf(route).map((kind) => kind.missing());

const withBody = scoped.filter(({ body }) => body !== undefined);
/** Names that mean something elsewhere: columns of tables, members of objects. */
const TELLING = [
  'id',
  'accountId',
  'account_id',
  'status',
  'uuid',
  'nodeId',
  'hashedKey',
  'isAdmin',
  'createdAt',
  'plan',
];
const INHERITED = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype', '__defineGetter__'];

describe('a body with one fault is refused by naming the field', () => {
  test.each(named(withBody))('%s', async (_name, route) => {
    for (const { why, body, field } of faultsOf(route)) {
      const answer = await world.call(route, person, missing(route), { json: body });
      expect([why, answer.status, answer.body.code]).toEqual([why, 400, 'validation_failed']);
      expect([why, answer.body.errors]).toEqual([why, [expect.objectContaining({ field, pointer: `/${field}` })]]);
      expect(answer.body.errors[0].detail).toContain(field);
    }
  });
});

describe('a field that the route does not know is refused by naming it', () => {
  test.each(named(withBody))('%s', async (_name, route) => {
    const known = new Set(Object.keys(route.body!.properties ?? {}));
    for (const field of ['surplus', 'a/b', 'a~b', '', ...TELLING, ...INHERITED].filter((name) => !known.has(name))) {
      const json = { ...sampleBody(route), [field]: 'x' };
      const answer = await world.call(route, person, missing(route), { json });
      const pointer = `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      expect([field, answer.status]).toEqual([field, 400]);
      expect([field, answer.body.errors]).toEqual([
        field,
        [expect.objectContaining({ field, pointer, code: 'unknown_field' })],
      ]);
    }
  });

  test.each(named(withBody))('all faults are told at once: %s', async (_name, route) => {
    const json = { surplus: 1, other: 2, ...faultsOf(route)[0]!.body };
    const { errors } = (await world.call(route, person, missing(route), { json })).expect(400).body;
    const fields = (errors as { field: string }[]).map(({ field }) => field).sort();
    expect(fields).toEqual([faultsOf(route)[0]!.field, 'other', 'surplus'].sort());
  });
});

describe('a route that takes no body knows no field', () => {
  const without = scoped.filter(
    ({ body, stream, method }) => body === undefined && !stream && ['POST', 'PUT', 'PATCH'].includes(method),
  );

  test.each(named(without))('%s', async (_name, route) => {
    const answer = (await world.call(route, person, missing(route), { json: { surplus: 1 } })).expect(400);
    expect(answer.body.errors).toEqual([
      expect.objectContaining({ field: 'surplus', pointer: '/surplus', code: 'unknown_field' }),
    ]);
    for (const raw of ['[]', '{', 'null']) (await world.call(route, person, missing(route), { raw })).expect(400);
  });
});

describe('a body at the very bounds passes validation', () => {
  test.each(named(withBody))('%s', async (_name, route) => {
    const values = route.params.length > 0 ? missing(route) : [];
    for (const { why, body } of edgesOf(route)) {
      const answer = await world.call(route, person, values, { json: body });
      expect([why, answer.status]).not.toEqual([why, 400]);
    }
  });
});

test('a word in an address that is none of those it takes is refused by naming them, whatever else it names', async () => {
  let choices = 0;
  for (const route of scoped) {
    for (const [index, { choice }] of world.kindsOf(route).entries()) {
      if (!choice) continue;
      choices++;
      const word = missing(route)[index]!;
      for (const other of [word.toUpperCase(), `${word}s`, `${word}%0a`, 'constructor', '%20', 'kill', '0']) {
        const answer = await world.call(route, person, missing(route).with(index, other));
        expect([other, answer.status, answer.body.code]).toEqual([other, 400, 'validation_failed']);
        const field = route.params[index]!;
        const fault = { field, pointer: `/${field}`, code: 'enum', meta: { allowed: expect.arrayContaining([word]) } };
        expect(answer.body.errors).toEqual([expect.objectContaining(fault)]);
      }
    }
  }
  expect(choices).toBeGreaterThan(0);
});

describe('a body that is no JSON object is refused', () => {
  const bodies: [why: string, status: number, raw: string | Buffer, headers?: Record<string, string>][] = [
    ['cut short', 400, '{"a":1'],
    ['no JSON', 400, 'a=1&b=2'],
    ['an array', 400, '[]'],
    ['text', 400, '"text"'],
    ['a number', 400, '1'],
    ['null', 400, 'null'],
    ['two values', 400, '{} {}'],
    ['not UTF-8', 400, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['with __proto__', 400, '{"__proto__":{"scopes":["write"]}}'],
    ['with an escaped __proto__', 400, '{"\\u005f_proto__":{}}'],
    ['with __proto__ inside', 400, '{"name":{"__proto__":1}}'],
    ['deeper than anybody needs', 400, `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
    ['deeper, in arrays', 400, `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['of another type', 415, '{}', { 'content-type': 'text/plain' }],
    ['of a type that begins alike', 415, '{}', { 'content-type': 'application/json5' }],
    ['a form', 415, 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['in another charset', 415, '{}', { 'content-type': 'application/json; charset=utf-16' }],
    ['compressed', 415, '{}', { 'content-encoding': 'gzip' }],
  ];

  /** Of the routes that take more than the others. */
  const LIMITS: Record<string, number> = { databases_query: 6_300_000, databases_import: 25_200_000 };

  test.each(named(withBody))('%s', async (_name, route) => {
    for (const [why, status, raw, headers] of bodies) {
      const answer = await world.call(route, person, missing(route), { raw, ...(headers ? { headers } : {}) });
      expect([why, answer.status]).toEqual([why, status]);
    }
    const raw = `{"a":"${'x'.repeat(LIMITS[route.id] ?? 1_048_576)}"}`;
    (await world.call(route, person, missing(route), { raw })).expect(413);
  });
});

describe('the bounds are those of the contract', () => {
  const server = { name: 'Fine', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 };
  const clients = (): [string, typeof person.api][] => [
    ['public', person.api],
    ['panel', person.panel],
  ];

  test('documented so', () => {
    for (const { document } of Object.values(surfaces)) {
      const { CreateServerDto, ResizeServerDto } = document.components.schemas;
      const sizes = {
        ram: { type: 'integer', minimum: 128, maximum: 8192 },
        disk: { type: 'integer', minimum: 512, maximum: 51_200 },
        cpu: { type: 'integer', minimum: 25, maximum: 400 },
      };
      expect(CreateServerDto).toMatchObject({
        required: ['name', 'runtime', 'ram', 'disk', 'cpu'],
        properties: {
          name: { type: 'string', minLength: 3, maxLength: 48 },
          ...sizes,
          withDatabase: { type: 'boolean' },
        },
      });
      expect(ResizeServerDto).toMatchObject({ properties: sizes });
      expect(ResizeServerDto!.required).toBeUndefined();
    }
  });

  test.each([
    [
      'name',
      ['abc', 'x'.repeat(48), '😀😀😀', '😀'.repeat(48), 'Größe 1'],
      [
        '',
        'ab',
        'x'.repeat(49),
        '😀😀',
        '😀'.repeat(49),
        'a\nb\nc',
        'a\u0000bc',
        'tab\there',
        'del\u007f\u0085',
        '\ud800abc',
      ],
    ],
    [
      'runtime',
      ['nodejs', 'NODEJS', 'python', 'PYTHON', 'java', 'JAVA'],
      ['ruby', '', 'nodejs ', ' java', 'NODE\u017fS', 'pythön'],
    ],
    ['ram', [128, 8192, 129], [127, 8193, 0, -128, 128.5, 1e9, 9007199254740993, '128']],
    ['disk', [512, 51_200], [511, 51_201, -1, 512.000001, '512']],
    ['cpu', [25, 400], [24, 401, 25.5, '25', null]],
    ['withDatabase', [false, true], ['true', 1, 0, null, 'yes']],
  ])('%s', async (field, fits, doesNot) => {
    for (const [surface, api] of clients()) {
      for (const value of fits) {
        const answer = (await api.post('/servers', { ...server, [field]: value })).expect(201);
        if (field === 'name') expect(answer.body.name).toBe(value);
        if (field === 'runtime') expect(answer.body.runtime).toBe(String(value).toLowerCase());
        if (field in answer.body.limits) expect(answer.body.limits[field]).toBe(value);
        (await api.delete(`/servers/${answer.body.id}`)).expect(204);
      }
      for (const value of doesNot) {
        const answer = await api.post('/servers', { ...server, [field]: value });
        expect([surface, value, answer.status]).toEqual([surface, value, 400]);
        expect(answer.body.errors).toEqual([expect.objectContaining({ field, pointer: `/${field}` })]);
      }
    }
  });

  test('a number that JSON can write in several ways is one number', async () => {
    const raw = '{"name":"Fine","runtime":"java","ram":1.28e2,"disk":512.0,"cpu":25}';
    expect((await person.api.send('POST', '/servers', { raw })).expect(201).body.limits).toEqual({
      ram: 128,
      disk: 512,
      cpu: 25,
    });
  });

  test('a field given twice counts as its last', async () => {
    const raw = '{"name":"First","name":"Second","runtime":"java","ram":128,"disk":512,"cpu":25}';
    expect((await person.api.send('POST', '/servers', { raw })).expect(201).body.name).toBe('Second');
  });
});
