import type { INestApplicationContext } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids/id.js';
import { Operation } from '../../src/platform/operations/operation.entity.js';
import { OperationSlots } from '../../src/platform/operations/operation-slots.js';
import { type NewOperation, OperationsService } from '../../src/platform/operations/operations.service.js';
import { TestDatabase } from '../support/database.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { script, startOperations } from './operations-app.js';

const ACCOUNT = newId('usr');

let database: TestDatabase;
let redis: RedisServer;
let settings: Record<string, string>;
let accepting: INestApplicationContext;
let workers: INestApplicationContext[] = [];

beforeAll(async () => {
  [database, redis] = await Promise.all([TestDatabase.create([Operation]), RedisServer.start()]);
  settings = { DATABASE_URL: database.url, REDIS_URL: redis.url, OPERATION_LEASE_SECONDS: '2' };
  accepting = await startOperations(settings, false);
});

beforeEach(() => {
  Object.assign(script, { steps: [], ends: [], failure: null, slots: null });
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  workers = [];
  await database.query("DELETE FROM operations WHERE status IN ('QUEUED', 'RUNNING')");
});

afterAll(async () => {
  await accepting?.close();
  await redis?.close();
  await database?.drop();
});

async function startWorker(): Promise<INestApplicationContext> {
  const worker = await startOperations(settings, true);
  workers.push(worker);
  return worker;
}

function accept(wanted: Partial<NewOperation> = {}): Promise<Operation> {
  return accepting.get(Database).transaction((tx) =>
    accepting.get(OperationsService).start(tx, {
      accountId: ACCOUNT,
      type: 'test.slotted',
      resourceId: newId('srv'),
      ...wanted,
    }),
  );
}

function row(id: string): Promise<Operation> {
  return database.source.manager.findOneByOrFail(Operation, { id });
}

async function ended(id: string, timeoutMs = 60_000): Promise<Operation> {
  return until(
    `end of the operation`,
    async () => {
      const operation = await row(id);
      return operation.finishedAt === null ? null : operation;
    },
    timeoutMs,
  );
}

test('no more than there are slots for are under way at once, and those that wait hold up nobody', async () => {
  let [underWay, most] = [0, 0];
  const gate = Promise.withResolvers<void>();
  script.slots = new OperationSlots(2);
  script.steps = [
    {
      name: 'a',
      run: async ({ operation }) => {
        if (operation.type === 'test.scripted') return;
        most = Math.max(most, ++underWay);
        await gate.promise;
        await delay(1);
        underWay--;
      },
    },
  ];
  await startWorker();
  // More than a worker takes off its queue at once.
  const operations = await Promise.all(Array.from({ length: 100 }, () => accept()));
  await until('two have begun', () => underWay === 2);
  expect(await ended((await accept({ type: 'test.scripted' })).id)).toMatchObject({ status: 'DONE' });
  const waiting = (await Promise.all(operations.map(({ id }) => row(id)))).filter(({ status }) => status === 'QUEUED');
  expect(waiting.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 98 }, () => 0));
  const cancelled = waiting.at(-1)!;
  expect(await accepting.get(OperationsService).cancel(accepting.get(Database), cancelled)).toBe(true);
  gate.resolve();
  for (const { id } of operations.filter((one) => one.id !== cancelled.id)) {
    expect(await ended(id)).toMatchObject({ status: 'DONE' });
  }
  expect(most).toBe(2);
  expect(await row(cancelled.id)).toMatchObject({ status: 'CANCELLED', attempts: 0 });
});

test('what has begun goes on with a worker that has no slot free', async () => {
  const gate = Promise.withResolvers<void>();
  script.slots = new OperationSlots(1);
  script.steps = [{ name: 'a', run: () => gate.promise }];
  await startWorker();
  const first = await accept();
  await until('it has begun', async () => (await row(first.id)).step === 'a');
  const second = await accept();
  await database.query("UPDATE operations SET step = 'a', attempts = 1 WHERE id = ?", [second.id]);
  await until('both are under way', async () => (await row(second.id)).status === 'RUNNING');
  gate.resolve();
  for (const { id } of [first, second]) expect(await ended(id)).toMatchObject({ status: 'DONE' });
});
