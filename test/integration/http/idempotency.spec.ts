import { Body, Controller, HttpCode, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Database } from '../../../src/platform/database/database.js';
import { conflict } from '../../../src/platform/errors/domain-error.js';
import { StreamBody } from '../../../src/platform/http/body.decorators.js';
import { StringField } from '../../../src/platform/http/fields.js';
import { NotIdempotent } from '../../../src/platform/http/idempotency.js';
import { IdempotencyKey } from '../../../src/platform/http/idempotency-key.entity.js';
import { IdempotencyStore } from '../../../src/platform/http/idempotency.store.js';
import { TestDatabase } from '../../support/database.js';
import { RedisServer } from '../../support/redis-server.js';
import { type KernelApp, NameGuard, startKernelApp } from './kernel-app.js';

class ThingDto {
  @StringField({ min: 3, max: 2_000_000 })
  name!: string;
}

/** What the routes did, and the gates that hold them up. */
const world = { made: 0, gate: Promise.resolve(), fail: false };

@Controller('api/v1/things')
@UseGuards(NameGuard)
class ThingsController {
  constructor(private readonly database: Database) {}

  @Post('broken')
  async breakOff(): Promise<void> {
    if (world.fail) throw new Error('it broke before anything was changed');
    await this.database.transaction(async () => void world.made++);
    throw new Error('the connection was lost');
  }

  @Post()
  async make(@Body() body: ThingDto, @Res({ passthrough: true }) response: Response): Promise<object> {
    await world.gate;
    if (world.fail) throw conflict('busy', 'Busy.');
    response.location(`/api/v1/things/${++world.made}`);
    return {
      n: world.made,
      name: body.name.slice(0, 10),
      large: body.name.length > 10_000 ? body.name.repeat(2) : body.name.length > 2000 ? body.name : null,
    };
  }

  @Post('actions')
  @HttpCode(204)
  act(): void {
    world.made++;
  }

  @Post('token')
  @NotIdempotent()
  token(): object {
    return { token: `evt_${++world.made}` };
  }

  @Post('upload')
  @StreamBody()
  async upload(@Req() request: Request): Promise<object> {
    let size = 0;
    for await (const chunk of request) size += (chunk as Buffer).length;
    return { n: ++world.made, size };
  }
}

let redis: RedisServer;
let db: TestDatabase;
let kernel: KernelApp;
let other: KernelApp;

beforeAll(async () => {
  [redis, db] = await Promise.all([RedisServer.start(), TestDatabase.create([IdempotencyKey])]);
  const settings = { DATABASE_URL: db.url, REDIS_URL: redis.url, RATE_LIMIT_PER_MINUTE: '100000' };
  [kernel, other] = await Promise.all([
    startKernelApp(settings, [ThingsController]),
    startKernelApp(settings, [ThingsController]),
  ]);
});

afterAll(async () => {
  await Promise.all([kernel.close(), other.close()]);
  await db.drop();
  await redis.close();
});

interface Sent {
  path?: string;
  body?: string | FormData;
  account?: string;
  app?: KernelApp;
}

async function post(
  key: string | undefined,
  { path = '', body = '{"name":"abc"}', account = 'usr_1', app = kernel }: Sent = {},
) {
  const answer = await fetch(`${app.url}/api/v1/things${path}`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${account}`,
      ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
  });
  const text = await answer.text();
  return {
    status: answer.status,
    replayed: answer.headers.get('idempotency-replayed') === 'true',
    location: answer.headers.get('location'),
    body: (text === '' ? null : JSON.parse(text)) as { code?: string; n?: number; size?: number } | null,
  };
}

test('the same request again is answered as the first time, and done once', async () => {
  const first = await post('again');
  const made = world.made;
  for (const app of [kernel, other]) {
    expect(await post('again', { app })).toEqual({ ...first, replayed: true });
  }
  expect([first.status, first.replayed, first.location, world.made]).toEqual([
    201,
    false,
    `/api/v1/things/${made}`,
    made,
  ]);
});

test('an answer without a body is kept as such', async () => {
  const sent = { path: '/actions', body: '' };
  expect(await post('empty', sent)).toMatchObject({ status: 204, replayed: false, body: null });
  expect(await post('empty', sent)).toMatchObject({ status: 204, replayed: true, body: null });
});

test('another body, route or query under the key is a 422; another account has keys of its own', async () => {
  await post('other');
  for (const sent of [
    { body: '{"name":"abcd"}' },
    { body: '{"name": "abc"}' },
    { path: '/actions' },
    { path: '?x=1' },
  ]) {
    expect(await post('other', sent)).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
  }
  expect(await post('other', { account: 'usr_2' })).toMatchObject({ status: 201, replayed: false });
});

test('20 at once through two processes have one effect', async () => {
  const made = world.made;
  let open = (): void => undefined;
  world.gate = new Promise((resolve) => (open = resolve));
  const answers = Array.from({ length: 20 }, (_, i) => post('race', { app: i % 2 ? kernel : other }));
  await until(async () => (await rows('race')).length === 1);
  const early = await Promise.all(answers.map((answer) => Promise.race([answer, tick()])));
  open();
  const all = await Promise.all(answers);
  world.gate = Promise.resolve();
  expect(early.filter((answer) => answer?.status === 201)).toEqual([]);
  const [done, refused] = [all.filter(({ status }) => status < 300), all.filter(({ status }) => status === 409)];
  expect(done.length + refused.length).toBe(20);
  expect(done.filter(({ replayed }) => !replayed)).toHaveLength(1);
  expect(new Set(done.map(({ body }) => body?.n))).toEqual(new Set([made + 1]));
  expect(refused.every(({ body }) => body?.code === 'idempotency_in_progress')).toBe(true);
  expect(world.made).toBe(made + 1);
});

test('a failed request frees its key, a refused one never takes it', async () => {
  world.fail = true;
  expect((await post('retry')).status).toBe(409);
  world.fail = false;
  expect(await rows('retry')).toEqual([]);
  expect((await post('retry', { body: '{"name":"x"}' })).status).toBe(400);
  expect((await post('retry', { body: '{' })).status).toBe(400);
  expect((await post('retry', { account: '' })).status).toBe(401);
  expect(await rows('retry')).toEqual([]);
  expect(await post('retry')).toMatchObject({ status: 201, replayed: false });
});

test('a request whose process died is neither done again nor called done', async () => {
  const made = world.made;
  await post('died');
  await db.query(
    "UPDATE idempotency_keys SET state = 'RUNNING', lease_until = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE idem_key = 'died'",
  );
  expect(await post('died')).toMatchObject({ status: 409, body: { code: 'idempotency_outcome_unknown' } });
  expect(world.made).toBe(made + 1);
});

test('what broke behind its commit is not done again', async () => {
  const made = world.made;
  world.fail = true;
  expect((await post('broken', { path: '/broken', body: '{}' })).status).toBe(500);
  expect(await rows('broken')).toEqual([]);
  world.fail = false;
  expect((await post('broken', { path: '/broken', body: '{}' })).status).toBe(500);
  expect(await post('broken', { path: '/broken', body: '{}' })).toMatchObject({ status: 409 });
  await db.query(
    "UPDATE idempotency_keys SET lease_until = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE idem_key = 'broken'",
  );
  await kernel.app.get(IdempotencyStore).renewLeases();
  expect(await post('broken', { path: '/broken', body: '{}' })).toMatchObject({
    status: 409,
    body: { code: 'idempotency_outcome_unknown' },
  });
  expect(world.made).toBe(made + 1);
});

test('a request that takes long keeps its lease', async () => {
  let open = (): void => undefined;
  world.gate = new Promise((resolve) => (open = resolve));
  const answer = post('long');
  await until(async () => (await rows('long')).length === 1);
  await db.query(
    "UPDATE idempotency_keys SET lease_until = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE idem_key = 'long'",
  );
  await kernel.app.get(IdempotencyStore).renewLeases();
  expect(await post('long')).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } });
  open();
  world.gate = Promise.resolve();
  expect((await answer).status).toBe(201);
});

test('a day later the key is free', async () => {
  const first = await post('day');
  await db.query(
    "UPDATE idempotency_keys SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE idem_key = 'day'",
  );
  const second = await post('day', { body: '{"name":"another"}' });
  expect([second.status, second.replayed, second.body?.n]).toEqual([201, false, first.body!.n! + 1]);
  await db.query(
    "UPDATE idempotency_keys SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE idem_key = 'day'",
  );
  await kernel.app.get(IdempotencyStore).purgeExpired();
  expect(await rows('day')).toEqual([]);
  expect((await rows('again')).length).toBe(1);
});

test('an answer too large to keep is not made up', async () => {
  const made = world.made;
  const sent = { body: JSON.stringify({ name: 'x'.repeat(10_001) }) };
  expect((await post('large', sent)).status).toBe(201);
  expect(await post('large', sent)).toMatchObject({ status: 409, body: { code: 'idempotency_answer_not_kept' } });
  expect(world.made).toBe(made + 1);
});

test('of an account with thousands of keys only small answers are kept', async () => {
  const account = 'usr_many';
  const medium = { account, body: JSON.stringify({ name: 'x'.repeat(3000) }) };
  await post('medium', medium);
  expect(await post('medium', medium)).toMatchObject({ status: 201, replayed: true });
  await db.query(`INSERT INTO idempotency_keys
      (account_id, idem_key, owner, route_hash, state, response_kept, lease_until, created_at, expires_at)
    SELECT '${account}', CONCAT('old-', seq), '', '', 'DONE', 1, NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY FROM seq_1_to_5000`);
  expect((await post('later', medium)).status).toBe(201);
  expect(await post('later', medium)).toMatchObject({ status: 409, body: { code: 'idempotency_answer_not_kept' } });
  await post('small', { account });
  expect(await post('small', { account })).toMatchObject({ status: 201, replayed: true });
  expect(await post('medium', medium)).toMatchObject({ status: 201, replayed: true });
});

test('a route that answers a secret does not look at the key, and nothing of it is kept', async () => {
  const one = await post('secret', { path: '/token' });
  const two = await post('secret', { path: '/token' });
  expect(one.body).not.toEqual(two.body);
  expect(await rows('secret')).toEqual([]);
});

test('an upload is told apart by its content, not by its boundary', async () => {
  const upload = (content: string) => {
    const form = new FormData();
    form.set('file', new Blob([content.repeat(50_000)]), 'site.zip');
    return post('upload', { path: '/upload', body: form });
  };
  const first = await upload('abc');
  expect(first).toMatchObject({ status: 201, replayed: false });
  expect(await upload('abc')).toEqual({ ...first, replayed: true });
  expect(await upload('abd')).toMatchObject({ status: 422 });
});

test.each([['a b'], ['ä'], ['x'.repeat(256)], [''], ['\t']])('the key %j is refused', async (key) => {
  const answer = await post(Buffer.from(key).toString('latin1'));
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_idempotency_key' } });
});

test.each([['x'.repeat(255)], ['!"#$%&~'], ['Aa']])('the key %s is taken', async (key) => {
  expect((await post(key)).status).toBe(201);
});

test('keys are told apart by case', async () => {
  await post('case');
  expect(await post('CASE', { body: '{"name":"other"}' })).toMatchObject({ status: 201, replayed: false });
});

function rows(key: string): Promise<object[]> {
  return db.query('SELECT state FROM idempotency_keys WHERE idem_key = ?', [key]);
}

function tick(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)));
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await tick();
}
