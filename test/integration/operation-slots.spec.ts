import { setTimeout as delay } from 'node:timers/promises';
import { Database } from '../../src/platform/database/database.js';
import { Operation } from '../../src/platform/operations/operation.entity.js';
import { OperationSlots } from '../../src/platform/operations/operation-slots.js';
import { type NewOperation, OperationsService } from '../../src/platform/operations/operations.service.js';
import { until } from '../support/until.js';
import { OperationsBed, script } from './operations-app.js';

let bed: OperationsBed;

beforeAll(async () => (bed = await OperationsBed.start()));
afterEach(() => bed.clear());
afterAll(() => bed?.close());

const accept = (wanted: Partial<NewOperation> = {}): Promise<Operation> =>
  bed.accept({ type: 'test.slotted', ...wanted });

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
  await bed.startWorker();
  // More than a worker takes off its queue at once.
  const operations = await Promise.all(Array.from({ length: 100 }, () => accept()));
  await until('two have begun', () => underWay === 2);
  expect(await bed.ended((await accept({ type: 'test.scripted' })).id)).toMatchObject({ status: 'DONE' });
  const waiting = (await Promise.all(operations.map(({ id }) => bed.row(id)))).filter(
    ({ status }) => status === 'QUEUED',
  );
  expect(waiting.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 98 }, () => 0));
  const cancelled = waiting.at(-1)!;
  expect(await bed.accepting.get(OperationsService).cancel(bed.accepting.get(Database), cancelled)).toBe(true);
  gate.resolve();
  for (const { id } of operations.filter((one) => one.id !== cancelled.id)) {
    expect(await bed.ended(id)).toMatchObject({ status: 'DONE' });
  }
  expect(most).toBe(2);
  expect(await bed.row(cancelled.id)).toMatchObject({ status: 'CANCELLED', attempts: 0 });
});

test('what had begun waits for a slot again, unless its step may not wait', async () => {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  script.slots = new OperationSlots(1);
  script.urgent = ['b'];
  script.steps = ['a', 'b'].map((name) => ({
    name,
    run: async ({ operation: { id } }) => {
      begun.push(`${id} ${name}`);
      await gate.promise;
    },
  }));
  await bed.startWorker();
  const first = await accept();
  await until('it has begun', () => begun.length === 1);
  // As a worker leaves them that is gone.
  const leave = async (step: string) => {
    const { id } = await accept();
    await bed.database.query('UPDATE operations SET step = ?, attempts = 1 WHERE id = ?', [step, id]);
    return id;
  };
  const [waits, goes] = [await leave('a'), await leave('b')];
  await until('the urgent one is under way', () => begun.includes(`${goes} b`));
  expect(await bed.row(waits)).toMatchObject({ status: 'QUEUED' });
  gate.resolve();
  for (const id of [first.id, waits, goes]) expect(await bed.ended(id)).toMatchObject({ status: 'DONE' });
  expect(begun.indexOf(`${waits} a`)).toBeGreaterThan(begun.indexOf(`${first.id} b`));
});
