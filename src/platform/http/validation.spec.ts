import { DomainError, type FieldError } from '../errors/domain-error.js';
import {
  BoolField,
  CustomField,
  EnumField,
  IdField,
  IntField,
  ListField,
  NumberField,
  ObjectField,
  StringField,
} from './fields.js';
import { PageQuery } from './page.js';
import { RequestPipe } from './validation.js';

class Inner {
  @StringField({ min: 1, max: 5 })
  'a/b~c'!: string;
}

class Dto {
  @StringField({ min: 3, max: 8, noControl: true })
  name!: string;

  @IntField({ min: 128, max: 8192, optional: true })
  ram?: number;

  @NumberField({ min: 0, max: 100, nullable: true, optional: true })
  share?: number | null;

  @BoolField({ optional: true })
  flag?: boolean;

  @EnumField(['NODEJS', 'PYTHON'], { caseInsensitive: true, optional: true })
  runtime?: string;

  @IdField('srv', { optional: true })
  server?: string;

  @ObjectField(() => Inner, { optional: true })
  inner?: Inner;

  @ListField(() => Inner, { max: 2, optional: true })
  list?: Inner[];

  @StringField({ maxBytes: 4, optional: true })
  bytes?: string;

  @CustomField(
    (value) => (value === 7 ? undefined : { code: 'seven', detail: 'must be seven' }),
    { type: 'integer' },
    { optional: true },
  )
  own?: number;
}

class Query extends PageQuery {
  @BoolField({ optional: true })
  deep?: boolean;

  @StringField({ max: 10, optional: true })
  host?: string;
}

const pipe = new RequestPipe();
const body = (value: unknown) => pipe.transform(value, { type: 'body', metatype: Dto }) as Promise<Dto>;
const query = (value: unknown) => pipe.transform(value, { type: 'query', metatype: Query }) as Promise<Query>;

async function faults(work: () => Promise<unknown>): Promise<FieldError[]> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    expect(error).toMatchObject({ kind: 'bad_request', code: 'validation_failed' });
    return (error as DomainError).extra.errors!;
  }
  return [];
}

test.each<[unknown, string, string, Record<string, unknown>?]>([
  [{}, 'name', 'type', { expected: 'string' }],
  [{ name: null }, 'name', 'type', { expected: 'string' }],
  [{ name: 5 }, 'name', 'type', { expected: 'string' }],
  [{ name: ['abc'] }, 'name', 'type', { expected: 'string' }],
  [{ name: 'ab' }, 'name', 'min_length', { limit: 3 }],
  [{ name: 'a😀' }, 'name', 'min_length', { limit: 3 }],
  [{ name: 'a'.repeat(9) }, 'name', 'max_length', { limit: 8 }],
  [{ name: 'ab\u0000c' }, 'name', 'control_character'],
  [{ name: 'ab\nc' }, 'name', 'control_character'],
  [{ name: 'abc\ud800' }, 'name', 'malformed_text'],
  [{ name: 'abc', ram: 127 }, 'ram', 'min', { limit: 128 }],
  [{ name: 'abc', ram: 8193 }, 'ram', 'max', { limit: 8192 }],
  [{ name: 'abc', ram: 128.5 }, 'ram', 'type', { expected: 'integer' }],
  [{ name: 'abc', ram: '128' }, 'ram', 'type', { expected: 'integer' }],
  [{ name: 'abc', ram: null }, 'ram', 'type', { expected: 'integer' }],
  [{ name: 'abc', ram: true }, 'ram', 'type', { expected: 'integer' }],
  [{ name: 'abc', share: 'x' }, 'share', 'type', { expected: 'number' }],
  [{ name: 'abc', flag: 'true' }, 'flag', 'type', { expected: 'boolean' }],
  [{ name: 'abc', flag: 1 }, 'flag', 'type', { expected: 'boolean' }],
  [{ name: 'abc', runtime: 'PHP' }, 'runtime', 'enum', { allowed: ['NODEJS', 'PYTHON'] }],
  [{ name: 'abc', runtime: {} }, 'runtime', 'enum', { allowed: ['NODEJS', 'PYTHON'] }],
  [{ name: 'abc', server: 'srv_1' }, 'server', 'pattern'],
  [{ name: 'abc', bytes: 'ééé' }, 'bytes', 'max_bytes', { limit: 4 }],
  [{ name: 'abc', own: 6 }, 'own', 'seven'],
  [{ name: 'abc', extra: 1 }, 'extra', 'unknown_field'],
  [{ name: 'abc', constructor: 1 }, 'constructor', 'unknown_field'],
  [{ name: 'abc', toString: 1 }, 'toString', 'unknown_field'],
  [{ name: 'abc', inner: { 'a/b~c': 'x', valueOf: 1 } }, 'inner.valueOf', 'unknown_field'],
  [{ name: 'abc', inner: 5 }, 'inner', 'type', { expected: 'object' }],
  [{ name: 'abc', inner: [] }, 'inner', 'type', { expected: 'object' }],
  [{ name: 'abc', inner: null }, 'inner', 'type', { expected: 'object' }],
  [{ name: 'abc', list: {} }, 'list', 'type', { expected: 'array' }],
  [{ name: 'abc', list: [{ 'a/b~c': 'x' }, { 'a/b~c': 'x' }, { 'a/b~c': 'x' }] }, 'list', 'max_items', { limit: 2 }],
  [{ name: 'abc', list: [5] }, 'list.0', 'type', { expected: 'object' }],
])('%j: %s is refused as %s', async (...[value, field, code, meta]) => {
  const errors = await faults(() => body(value));
  expect(errors).toContainEqual(
    expect.objectContaining({ field, pointer: `/${field.replace('.', '/')}`, code, ...(meta ? { meta } : {}) }),
  );
});

test('each faulty field is named once, nested and unknown ones by their pointer', async () => {
  const errors = await faults(() =>
    body({ name: 'x', inner: { 'a/b~c': '', more: 1 }, list: [{ 'a/b~c': 'fine' }, {}], 'x/y': 1 }),
  );
  expect(errors.map(({ pointer, code }) => `${pointer} ${code}`).sort()).toEqual([
    '/inner/a~1b~0c min_length',
    '/inner/more unknown_field',
    '/list/1/a~1b~0c type',
    '/name min_length',
    '/x~1y unknown_field',
  ]);
});

test('what fits is handed on as it is, words in their listed spelling', async () => {
  const value = {
    name: 'a😀b',
    ram: 128,
    share: null,
    flag: false,
    runtime: 'nodejs',
    inner: { 'a/b~c': 'x' },
    own: 7,
  };
  const dto = await body(value);
  expect(dto).toBeInstanceOf(Dto);
  expect({ ...dto, inner: { ...dto.inner } }).toEqual({ ...value, runtime: 'NODEJS' });
});

describe('queries', () => {
  test('numbers and booleans are read from text, other parameters are left out', async () => {
    expect({ ...(await query({ limit: '5', deep: 'false', host: '12', waitFor: 'X' })) }).toEqual({
      limit: 5,
      deep: false,
      host: '12',
    });
    expect({ ...(await query({})) }).toEqual({ limit: 100 });
  });

  test.each([
    { limit: '0' },
    { limit: '1001' },
    { limit: '' },
    { limit: '1e2' },
    { limit: '0x10' },
    { limit: ' 5' },
    { limit: '5.0' },
    { limit: ['5', '6'] },
    { deep: '1' },
    { deep: '' },
    { host: ['a', 'b'] },
    { cursor: '' },
  ])('%j is refused', async (value) => {
    expect((await faults(() => query(value))).map(({ field }) => field)).toEqual(Object.keys(value));
  });
});
