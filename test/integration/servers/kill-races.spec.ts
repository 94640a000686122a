import { setTimeout as delay } from 'node:timers/promises';
import { BackupsService } from '../../../src/modules/servers/backups/backups.service.js';
import { PowerService } from '../../../src/modules/servers/power/power.service.js';
import { ResizeService } from '../../../src/modules/servers/resize/resize.service.js';
import { SchedulesService } from '../../../src/modules/servers/schedules/schedules.service.js';
import { Server } from '../../../src/modules/servers/server.entity.js';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import type { PowerSignal } from '../../../src/modules/servers/server-status.js';
import { ServersService } from '../../../src/modules/servers/servers.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import type { DomainError } from '../../../src/platform/errors/domain-error.js';
import { Operation } from '../../../src/platform/operations/operation.entity.js';
import { until } from '../../support/until.js';
import { ServersApp } from './servers-app.js';

const WANTED = { name: 'tested', runtime: 'nodejs' as const, ram: 128, disk: 512, cpu: 10 };
const AT_ONCE = 10;
/** From before an installation begins to after it has ended: it takes the simulated engine 300 ms. */
const DELAYS = [0, 0, 0, 10, 20, 30, 50, 70, 100, 150, 200, 250, 300, 330, 360, 400, 450, 500, 600, 800];

let app: ServersApp;
let caller: Principal;
let callers = 0;

beforeAll(async () => {
  app = await ServersApp.start();
  await app.startWorker();
  await app.startWorker();
});
beforeEach(async () => {
  caller = await app.makeCaller(`killer${++callers}`);
});
afterEach(async () => {
  await quiet();
});
afterAll(() => app?.close());

const rows = () => app.database.source.manager;
const service = <T>(type: new (...args: never[]) => T): T => app.api.get(type);
const power = (id: string, signal: PowerSignal) => service(PowerService).send(caller, id, signal);
const created = async (): Promise<string> => (await service(ServersService).create(caller, WANTED)).id;
const several = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

async function unfinished(): Promise<string[]> {
  const open = await rows().find(Operation, { where: [{ status: 'QUEUED' }, { status: 'RUNNING' }] });
  return open.map(({ type, resourceId }) => `${type} ${resourceId}`);
}

async function quiet(): Promise<void> {
  await until('the end of all operations', async () => (await unfinished()).length === 0);
}

async function statusOf(id: string): Promise<string> {
  return (await rows().findOneByOrFail(Server, { id })).status;
}

async function runs(id: string): Promise<boolean> {
  const instances = await app.engine.listInstances();
  return instances.some(({ name, state }) => name === engineName(id) && state === 'running');
}

/** What was answered, or why it was refused and what would have to be waited for. */
async function busyWith(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    const { code, extra } = error as DomainError;
    return `${code} ${String(extra.members?.operationId)}`;
  }
}

async function mustBeEnded(id: string): Promise<void> {
  expect(['INSTALL_FAILED', 'STOPPED']).toContain(await statusOf(id));
  expect(await runs(id)).toBe(false);
}

/** What was killed can be brought up again. */
async function mustComeUp(id: string): Promise<void> {
  if ((await statusOf(id)) === 'STOPPED') await power(id, 'start');
  else await service(ServersService).retry(caller, id);
  await app.status(id, 'RUNNING');
  expect(await runs(id)).toBe(true);
}

describe('what is asked while a kill is under way', () => {
  test('nothing is accepted that the kill would end again', async () => {
    const id = await app.makeServer(caller);
    const { uuid } = await service(BackupsService).create(caller, id);
    await quiet();
    app.engine.faults.goAway();
    const kill = await power(id, 'kill');
    const busy = `busy ${kill.id}`;
    for (const signal of ['start', 'restart'] as const) expect(await busyWith(power(id, signal))).toBe(busy);
    expect(await busyWith(service(ServersService).reinstall(caller, id))).toBe(busy);
    expect(await busyWith(service(BackupsService).restore(caller, id, uuid))).toBe(busy);
    expect(await busyWith(service(ResizeService).resize(caller, id, { ram: 160 }))).toBe(busy);
    await rows().update(Server, { id }, { status: 'INSTALL_FAILED' });
    expect(await busyWith(service(ServersService).retry(caller, id))).toBe(busy);
    await rows().update(Server, { id }, { status: 'STOPPED' });
    for (const signal of ['start', 'restart'] as const) expect(await busyWith(power(id, signal))).toBe(busy);
    await rows().update(Server, { id }, { status: 'RUNNING' });
    expect((await power(id, 'kill')).id).toBe(kill.id);
    app.engine.faults.comeBack();
    await quiet();
    expect(await statusOf(id)).toBe('STOPPED');
    await mustComeUp(id);
  });

  test.each(['start', 'restart'] as const)('a %s that is accepted after a kill is not lost', async (signal) => {
    const ids = await several(AT_ONCE, () => app.makeServer(caller));
    const wanted = await Promise.all(
      ids.map(async (id, index) => {
        const kill = await power(id, 'kill');
        await delay(index * 5);
        const answer = await busyWith(power(id, signal));
        if (typeof answer !== 'string') return 'RUNNING';
        expect(answer).toBe(`busy ${kill.id}`);
        return 'STOPPED';
      }),
    );
    await quiet();
    expect(await Promise.all(ids.map(statusOf))).toEqual(wanted);
    expect(await Promise.all(ids.map(runs))).toEqual(wanted.map((status) => status === 'RUNNING'));
  });

  test('a restart that was accepted before the kill ends with it', async () => {
    const ids = await several(AT_ONCE, () => app.makeServer(caller));
    await Promise.all(
      ids.map(async (id, index) => {
        await power(id, 'restart');
        await delay(index * 5);
        await power(id, 'kill');
      }),
    );
    await quiet();
    for (const id of ids) {
      expect(await statusOf(id)).toBe('STOPPED');
      await mustBeEnded(id);
    }
    await Promise.all(ids.map(mustComeUp));
  });

  test('a schedule that meets it waits and starts the service afterwards', async () => {
    const id = await app.makeServer(caller);
    const schedules = service(SchedulesService);
    const { id: scheduleId } = await schedules.create(caller, id, {});
    await schedules.addTask(caller, id, scheduleId, { action: 'power', payload: 'start' });
    app.engine.faults.goAway();
    await power(id, 'kill');
    await schedules.execute(caller, id, scheduleId);
    await until('a try in vain', async () => {
      const run = await rows().findOneByOrFail(Operation, { resourceId: scheduleId });
      return run.attempts > 0 && run.status === 'QUEUED';
    });
    app.engine.faults.comeBack();
    await quiet();
    const [run] = (await schedules.history(caller, id, scheduleId, { limit: 1 })).items;
    expect(run).toMatchObject({ status: 'DONE' });
    expect(await statusOf(id)).toBe('RUNNING');
    expect(await runs(id)).toBe(true);
  });
});

test.each(['stop', 'restart'] as const)('what is deleted while a %s is under way is gone for good', async (signal) => {
  const ids = await several(AT_ONCE, () => app.makeServer(caller));
  for (const id of ids) {
    const instance = (
      app.engine as unknown as { instance(name: string): { behaviour: { ignoresStop?: boolean } } }
    ).instance(engineName(id));
    instance.behaviour = { ...instance.behaviour, ignoresStop: true };
  }
  const seen = new Set<string>();
  await Promise.all(
    ids.map(async (id) => {
      await power(id, signal);
      await until('it is under way', async () => {
        const operation = await rows().findOneBy(Operation, { resourceId: id, type: 'server.power' });
        return operation?.step === 'stop';
      });
      await service(ServersService).delete(caller, id);
      for (;;) {
        const row = await rows().findOneBy(Server, { id });
        if (!row) return;
        seen.add(row.status);
      }
    }),
  );
  expect([...seen]).toEqual(['DELETING']);
});

describe('a kill during an installation', () => {
  /** Each makes ready what is to be installed, and answers how to begin that. */
  const INSTALLATIONS: { name: string; prepare(): Promise<() => Promise<string>> }[] = [
    { name: 'the first one', prepare: async () => created },
    { name: 'again, of what runs', prepare: async () => reinstalling(await app.makeServer(caller)) },
    {
      name: 'again, of what stands still',
      prepare: async () => {
        const id = await app.makeServer(caller);
        await power(id, 'stop');
        await app.status(id, 'STOPPED');
        return reinstalling(id);
      },
    },
  ];

  function reinstalling(id: string): () => Promise<string> {
    const by = caller;
    return async () => {
      await service(ServersService).reinstall(by, id);
      return id;
    };
  }

  test.each(INSTALLATIONS)('$name: whenever it comes, nothing runs afterwards', async ({ prepare }) => {
    for (let first = 0; first < DELAYS.length; first += AT_ONCE) {
      caller = await app.makeCaller(`killer${++callers}`);
      const ids = await several(AT_ONCE, async (index) => {
        const install = await prepare();
        const id = await install();
        await delay(DELAYS[first + index]);
        await power(id, 'kill');
        return id;
      });
      await quiet();
      for (const id of ids) await mustBeEnded(id);
      await Promise.all(ids.map(mustComeUp));
    }
  });

  test('it cuts a long one off at once and says so', async () => {
    const id = await created();
    app.engine.behave(engineName(id), { installMs: 60_000 });
    const kill = await power(id, 'kill');
    const asked = Date.now();
    await quiet();
    expect(Date.now() - asked).toBeLessThan(20_000);
    await mustBeEnded(id);
    const operations = await rows().find(Operation, { where: { resourceId: id }, order: { id: 'ASC' } });
    expect(operations.map(({ type, status, errorCode }) => [type, status, errorCode])).toEqual([
      ['server.create', 'FAILED', 'install_interrupted'],
      ['server.kill', 'DONE', null],
    ]);
    expect(operations[1]).toMatchObject({ id: kill.id, failures: 0 });
  });
});
