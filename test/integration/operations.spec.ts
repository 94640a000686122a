import { setTimeout as delay } from 'node:timers/promises';
import { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids/id.js';
import { Operation } from '../../src/platform/operations/operation.entity.js';
import { OperationFailed, RunAgain, type OperationStep } from '../../src/platform/operations/operation-handler.js';
import { type NewOperation, OperationsService } from '../../src/platform/operations/operations.service.js';
import { until } from '../support/until.js';
import { ACCOUNT, OperationsBed, script } from './operations-app.js';

let bed: OperationsBed;

beforeAll(async () => (bed = await OperationsBed.start()));
afterEach(() => bed.clear());
afterAll(() => bed?.close());

const accept = (wanted: Partial<NewOperation> = {}): Promise<Operation> =>
  bed.accept({ type: 'test.scripted', ...wanted });

async function wipeQueue(): Promise<void> {
  const client = bed.redis.connect();
  await client.flushall();
  client.disconnect();
}

/** A step that notes that it ran, and what it may do besides. */
function noting(log: string[], name: string, run?: OperationStep['run']): OperationStep {
  return {
    name,
    run: async (context) => {
      log.push(name);
      await run?.(context);
    },
    undo: async () => void log.push(`undo ${name}`),
  };
}

test('runs its steps in order and ends with its rows', async () => {
  const log: string[] = [];
  script.steps = [noting(log, 'a'), noting(log, 'b')];
  await bed.startWorker();
  const { id } = await accept();
  expect(await bed.ended(id)).toMatchObject({ status: 'DONE', progress: 100, activeKey: null, leaseOwner: null });
  expect(log).toEqual(['a', 'b']);
  expect(script.ends).toEqual([`done ${id}`]);
});

test('goes on at the step that asked to wait, when its time has come', async () => {
  const log: string[] = [];
  let waits = 2;
  script.steps = [
    noting(log, 'a'),
    noting(log, 'b', async () => {
      if (waits-- > 0) throw new RunAgain(100);
    }),
  ];
  await bed.startWorker();
  const { id } = await accept();
  expect(await bed.ended(id, 6000)).toMatchObject({ status: 'DONE', failures: 0 });
  expect(log).toEqual(['a', 'b', 'b', 'b']);
});

test('undoes in reverse order what a failed operation did, the failed step included', async () => {
  const log: string[] = [];
  script.steps = [
    noting(log, 'a'),
    noting(log, 'b', () => Promise.reject(new OperationFailed('no_luck', 'Not today.'))),
    noting(log, 'c'),
  ];
  await bed.startWorker();
  const { id } = await accept();
  expect(await bed.ended(id)).toMatchObject({ status: 'FAILED', errorCode: 'no_luck', errorDetail: 'Not today.' });
  expect(log).toEqual(['a', 'b', 'undo b', 'undo a']);
  expect(script.failure).toMatchObject({ code: 'no_luck', detail: 'Not today.' });
});

test('tries a step that failed for no known reason again, and gives up after three times without a word of why', async () => {
  const log: string[] = [];
  script.steps = [noting(log, 'a', () => Promise.reject(new Error('secret of the platform')))];
  await bed.startWorker();
  const { id } = await accept();
  const operation = await bed.ended(id);
  expect(operation).toMatchObject({ status: 'FAILED', errorCode: 'internal_error' });
  expect(operation.errorDetail).not.toContain('secret');
  expect(log).toEqual(['a', 'a', 'a', 'undo a']);
});

test('waits for a backing part that is away for as long as it takes, and counts no failure', async () => {
  const log: string[] = [];
  let away = 4;
  script.steps = [
    noting(log, 'a', async () => {
      if (away-- > 0) throw Object.assign(new Error('away'), { code: 'unavailable' });
    }),
  ];
  await bed.startWorker();
  const { id } = await accept();
  // Not the real pause between tries, which is seconds.
  const sooner = setInterval(
    () =>
      void bed.database.query(
        "UPDATE operations SET due_at = UTC_TIMESTAMP(3) WHERE id = ? AND due_at > UTC_TIMESTAMP(3) AND status = 'QUEUED'",
        [id],
      ),
    100,
  );
  expect(await bed.ended(id).finally(() => clearInterval(sooner))).toMatchObject({ status: 'DONE', failures: 0 });
});

test('an undo that fails is tried again until everything is undone', async () => {
  const log: string[] = [];
  let failing = 1;
  script.steps = [
    {
      ...noting(log, 'a'),
      undo: async () => {
        log.push('undo a');
        if (failing-- > 0) throw new Error('not yet');
      },
    },
    noting(log, 'b', () => Promise.reject(new OperationFailed('no_luck', 'Not today.'))),
  ];
  await bed.startWorker();
  const { id } = await accept();
  expect(await bed.ended(id)).toMatchObject({ status: 'FAILED', errorCode: 'no_luck' });
  expect(log.filter((line) => line === 'undo a')).toHaveLength(2);
  expect(log.filter((line) => line === 'b')).toHaveLength(1);
});

test('an undo that is refused is left, and the rest is undone', async () => {
  const log: string[] = [];
  script.steps = [
    noting(log, 'a'),
    {
      ...noting(log, 'b'),
      undo: async () => {
        log.push('undo b');
        throw new OperationFailed('in_use', 'It is in use.');
      },
    },
    noting(log, 'c', () => Promise.reject(new OperationFailed('no_luck', 'Not today.'))),
  ];
  await bed.startWorker();
  const { id } = await accept();
  expect(await bed.ended(id)).toMatchObject({ status: 'FAILED', errorCode: 'no_luck' });
  expect(log).toEqual(['a', 'b', 'c', 'undo c', 'undo b', 'undo a']);
});

test('what was queued while no worker and no Redis were there is found by the sweeper', async () => {
  script.steps = [noting([], 'a')];
  await bed.redis.kill();
  const { id } = await accept();
  await bed.redis.run();
  await bed.startWorker();
  expect(await bed.ended(id)).toMatchObject({ status: 'DONE' });
});

test('a wiped queue loses nothing, and runs nothing twice', async () => {
  const log: string[] = [];
  script.steps = [{ name: 'a', run: async ({ operation }) => void log.push(operation.id) }];
  const operations = await Promise.all(Array.from({ length: 40 }, () => accept()));
  await wipeQueue();
  await Promise.all([bed.startWorker(), bed.startWorker()]);
  await wipeQueue();
  await Promise.all(operations.map(({ id }) => bed.ended(id)));
  expect(log.sort()).toEqual(operations.map(({ id }) => id).sort());
  expect(script.ends).toHaveLength(40);
});

test('an operation whose worker is gone is taken over at the step it stood at', async () => {
  const log: string[] = [];
  script.steps = [noting(log, 'a'), noting(log, 'b')];
  const { id } = await accept();
  // As a worker leaves it that was killed in the middle of the second step.
  await bed.database.query(
    "UPDATE operations SET status = 'RUNNING', step = 'b', attempts = 1, lease_owner = 'dead', lease_until = UTC_TIMESTAMP(3) + INTERVAL 1 SECOND WHERE id = ?",
    [id],
  );
  await bed.startWorker();
  expect(await bed.ended(id)).toMatchObject({ status: 'DONE', attempts: 2 });
  expect(log).toEqual(['b']);
});

test('a worker that dies while undoing leaves the rest of the undoing to the next', async () => {
  const log: string[] = [];
  script.steps = [noting(log, 'a'), noting(log, 'b')];
  const { id } = await accept();
  await bed.database.query(
    "UPDATE operations SET status = 'RUNNING', step = 'b', undoing = 1, error_code = 'no_luck', attempts = 1, lease_owner = 'dead', lease_until = UTC_TIMESTAMP(3) WHERE id = ?",
    [id],
  );
  await bed.startWorker();
  expect(await bed.ended(id)).toMatchObject({ status: 'FAILED', errorCode: 'no_luck' });
  expect(log).toEqual(['undo b', 'undo a']);
});

test('two workers share the work, and no operation is begun twice', async () => {
  const log: string[] = [];
  script.steps = [
    {
      name: 'a',
      run: async ({ operation }) => {
        log.push(operation.id);
        await delay(20);
      },
    },
  ];
  await Promise.all([bed.startWorker(), bed.startWorker()]);
  const operations = await Promise.all(Array.from({ length: 100 }, () => accept()));
  await Promise.all(operations.map(({ id }) => bed.ended(id)));
  expect(log).toHaveLength(100);
  expect(new Set(log).size).toBe(100);
});

test('a step that takes longer than the lease keeps it', async () => {
  const log: string[] = [];
  script.steps = [noting(log, 'a', () => delay(4500))];
  await Promise.all([bed.startWorker(), bed.startWorker()]);
  const { id } = await accept();
  expect(await bed.ended(id)).toMatchObject({ status: 'DONE', attempts: 1 });
  expect(log).toEqual(['a']);
});

test('a process that lost its lease is told so, stops, and changes nothing any more', async () => {
  let aborted: unknown;
  let begun = false;
  script.steps = [
    {
      name: 'a',
      run: async ({ signal }) => {
        begun = true;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        aborted = signal.reason;
        signal.throwIfAborted();
      },
    },
  ];
  await bed.startWorker();
  const { id } = await accept();
  await until('begin', () => begun);
  await bed.database.query(
    "UPDATE operations SET lease_owner = 'other', lease_until = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR WHERE id = ?",
    [id],
  );
  await until('abort', () => aborted);
  await bed.workers[0]!.close();
  expect(await bed.row(id)).toMatchObject({ status: 'RUNNING', leaseOwner: 'other', failures: 0 });
  expect(script.ends).toEqual([]);
});

test('a worker that ends as it begins leaves no failure that nobody hears of', async () => {
  for (let turn = 0; turn < 20; turn++) {
    const worker = await bed.startWorker();
    await delay(turn % 5);
    await worker.close();
  }
});

test('a worker that ends hands back what it has under way, and another goes on at the next step', async () => {
  const log: string[] = [];
  script.steps = [noting(log, 'a', () => delay(300)), noting(log, 'b')];
  const first = await bed.startWorker();
  const { id } = await accept();
  await until('begin', () => log.includes('a'));
  await first.close();
  expect(await bed.row(id)).toMatchObject({ status: 'QUEUED', leaseOwner: null, failures: 0 });
  await bed.startWorker();
  expect(await bed.ended(id, 4000)).toMatchObject({ status: 'DONE' });
  expect(log.filter((name) => name === 'b')).toHaveLength(1);
});

describe('cancelling', () => {
  const cancel = (operation: Operation) =>
    bed.accepting.get(Database).transaction((tx) => bed.accepting.get(OperationsService).cancel(tx, operation));

  test('ends at once what has not begun', async () => {
    const operation = await accept();
    expect(await cancel(operation)).toBe(true);
    expect(await bed.row(operation.id)).toMatchObject({ status: 'CANCELLED', activeKey: null });
  });

  test('ends what runs and undoes what it did', async () => {
    const log: string[] = [];
    script.steps = [
      noting(log, 'a'),
      noting(log, 'b', async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        signal.throwIfAborted();
      }),
    ];
    await bed.startWorker();
    const operation = await accept();
    await until('begin', () => log.includes('b'));
    expect(await cancel(operation)).toBe(false);
    expect(await bed.ended(operation.id)).toMatchObject({ status: 'CANCELLED' });
    expect(log).toEqual(['a', 'b', 'undo b', 'undo a']);
    expect(script.ends).toEqual([`cancelled ${operation.id}`]);
  });

  test('ends what waits between two tries', async () => {
    const log: string[] = [];
    script.steps = [noting(log, 'a', () => Promise.reject(new RunAgain(60_000)))];
    await bed.startWorker();
    const operation = await accept();
    await until('waiting', async () => log.length > 0 && (await bed.row(operation.id)).status === 'QUEUED');
    await cancel(operation);
    expect(await bed.ended(operation.id, 5000)).toMatchObject({ status: 'CANCELLED' });
    expect(log).toEqual(['a', 'undo a']);
  });
});

describe('one at a time', () => {
  test('a busy resource is a 409 that names what it waits for', async () => {
    const resourceId = newId('srv');
    const first = await accept({ resourceId });
    await expect(accept({ resourceId })).rejects.toMatchObject({
      code: 'busy',
      extra: { members: { operationId: first.id } },
    });
    await expect(accept({ resourceId, lane: 'kill' })).resolves.toMatchObject({ status: 'QUEUED' });
  });

  test('of many at once exactly one is accepted', async () => {
    const resourceId = newId('srv');
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => accept({ resourceId })));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a rolled back transaction leaves no operation and nothing in the queue', async () => {
    script.steps = [noting([], 'a')];
    await bed.startWorker();
    const work = bed.accepting.get(Database).transaction(async (tx) => {
      await bed.accepting
        .get(OperationsService)
        .start(tx, { accountId: ACCOUNT, type: 'test.scripted', resourceId: ACCOUNT });
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await bed.database.source.manager.countBy(Operation, { resourceId: ACCOUNT })).toBe(0);
  });
});

test('an operation that is to start later does', async () => {
  let at = 0;
  script.steps = [{ name: 'a', run: async () => void (at = Date.now()) }];
  await bed.startWorker();
  const asked = Date.now();
  const { id } = await accept({ delayMs: 1500 });
  await bed.ended(id);
  expect(at - asked).toBeGreaterThanOrEqual(1400);
});

test('a type this release does not know stays queued for one that does', async () => {
  await bed.startWorker();
  const { id } = await accept({ type: 'test.from-the-future' });
  await until('a try', async () => (await bed.row(id)).failures > 0);
  expect(await bed.row(id)).toMatchObject({ status: 'QUEUED' });
});
