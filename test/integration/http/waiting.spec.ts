import { Controller, Get, UseGuards } from '@nestjs/common';
import { IdempotencyKey } from '../../../src/platform/http/idempotency-key.entity.js';
import { Waitable } from '../../../src/platform/http/wait-for.js';
import { TestDatabase } from '../../support/database.js';
import { RedisServer } from '../../support/redis-server.js';
import { type KernelApp, NameGuard, startKernelApp } from './kernel-app.js';

const world = { status: 'INSTALLING', reads: 0 };

@Controller('api/v1/things')
@UseGuards(NameGuard)
class ThingsController {
  @Get('waiting')
  @Waitable()
  waiting(): object {
    world.reads++;
    return { status: world.status };
  }
}

let redis: RedisServer;
let db: TestDatabase;
let kernel: KernelApp;

beforeAll(async () => {
  [redis, db] = await Promise.all([RedisServer.start(), TestDatabase.create([IdempotencyKey])]);
  kernel = await startKernelApp({ DATABASE_URL: db.url, REDIS_URL: redis.url }, [ThingsController]);
});

afterAll(async () => {
  await kernel.close();
  await db.drop();
  await redis.close();
});

const call = (path: string, init: RequestInit = {}) =>
  fetch(`${kernel.url}/api/v1/things${path}`, { ...init, headers: { authorization: 'Bearer usr_1' } });

test('is answered as soon as the status is there', async () => {
  world.status = 'INSTALLING';
  const answer = call('/waiting?waitFor=RUNNING,INSTALL_FAILED&timeout=20');
  const reads = world.reads;
  while (world.reads < reads + 2) await new Promise(setImmediate);
  world.status = 'INSTALL_FAILED';
  expect(await (await answer).json()).toEqual({ status: 'INSTALL_FAILED' });
});

test('tells the state as it is once time is up', async () => {
  world.status = 'INSTALLING';
  const started = performance.now();
  expect(await (await call('/waiting?waitFor=RUNNING&timeout=1')).json()).toEqual({ status: 'INSTALLING' });
  expect(performance.now() - started).toBeGreaterThan(990);
  expect(await (await call('/waiting?waitFor=RUNNING&timeout=0')).json()).toEqual({ status: 'INSTALLING' });
});

test('ends when the client goes away', async () => {
  const leave = new AbortController();
  const reads = world.reads;
  const answer = call('/waiting?waitFor=RUNNING&timeout=60', { signal: leave.signal });
  while (world.reads < reads + 1) await new Promise(setImmediate);
  leave.abort();
  await expect(answer).rejects.toThrow();
  while (!kernel.log().includes('"status":499')) await new Promise((resolve) => setTimeout(resolve, 10));
  const after = world.reads;
  await new Promise((resolve) => setTimeout(resolve, 1200));
  expect(world.reads).toBeLessThanOrEqual(after + 1);
});

test.each([
  'waitFor=running',
  'waitFor=',
  'waitFor=A&waitFor=B',
  'waitFor=RUNNING&timeout=61',
  'timeout=-1',
  'timeout=1.5',
  'timeout=abc',
])('%s is a 400', async (query) => {
  const answer = await call(`/waiting?${query}`);
  expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ code: 'validation_failed' })]);
});

test('ends when the process does, which answers what is under way', async () => {
  const app = await startKernelApp({ DATABASE_URL: db.url, REDIS_URL: redis.url }, [ThingsController]);
  const reads = world.reads;
  const answer = fetch(`${app.url}/api/v1/things/waiting?waitFor=RUNNING&timeout=60`, {
    headers: { authorization: 'Bearer usr_1' },
  });
  while (world.reads < reads + 1) await new Promise(setImmediate);
  await app.close();
  expect(await (await answer).json()).toEqual({ status: 'INSTALLING' });
});
