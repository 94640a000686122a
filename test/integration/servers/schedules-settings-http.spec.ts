import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import { until } from '../../support/until.js';

interface Run {
  id: string;
  status: string;
  tasks: { status: string; operationId: string | null; startedAt: string; finishedAt: string }[];
}

let berth: Berth;
let account: TestAccount;
let serverId: string;

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker']], env: { OPERATION_LEASE_SECONDS: '2' } });
  account = await berth.makeAccount();
  serverId = await makeServer('chained');
});
afterAll(() => berth?.close());

async function makeServer(name: string): Promise<string> {
  const wanted = { name, runtime: 'NODEJS', ram: 128, disk: 512, cpu: 25 };
  const id = (await account.api.post('/servers', wanted)).expect(201).body.id as string;
  await account.api.waitFor(`/servers/${id}`, 'RUNNING', 60);
  return id;
}

async function lastRun(scheduleId: string): Promise<Run> {
  const runs = (await account.api.get(`/servers/${serverId}/schedules/${scheduleId}/runs`)).expect(200).body as Run[];
  return runs[0]!;
}

/** A schedule whose second task follows some seconds after the first. Killing nothing is a task like any other. */
async function makeChain(timeOffset: number): Promise<string> {
  const { api } = account;
  const path = `/servers/${serverId}/schedules`;
  const { id } = (await api.post(path, { isActive: false })).expect(201).body as { id: string };
  const task = { action: 'power', payload: 'kill' };
  (await api.post(`${path}/${id}/tasks`, task)).expect(201);
  (await api.post(`${path}/${id}/tasks`, { ...task, timeOffset })).expect(201);
  return id;
}

test('chains go on where they stood when their worker is killed, and do nothing twice', async () => {
  const worker = berth.process('worker');
  const chains = await Promise.all([3, 3, 4, 4, 5, 5].map(makeChain));
  await Promise.all(
    chains.map(async (id) => (await account.api.post(`/servers/${serverId}/schedules/${id}/execute`)).expect(202)),
  );
  // Some have their first task behind them by then, some are in the middle of it.
  await until('a first task', async () => {
    const runs = await Promise.all(chains.map(lastRun));
    return runs.some(({ tasks }) => tasks[0]!.status === 'DONE');
  });
  await worker.kill();
  const before = await Promise.all(chains.map(lastRun));
  expect(before.every(({ tasks }) => tasks[1]!.status === 'WAITING')).toBe(true);
  await worker.start();

  for (const id of chains) {
    const run = await until(
      'end of a chain',
      async () => {
        const now = await lastRun(id);
        return ['DONE', 'FAILED'].includes(now.status) && now;
      },
      40_000,
    );
    expect(run).toMatchObject({ status: 'DONE', tasks: [{ status: 'DONE' }, { status: 'DONE' }] });
    const [first, second] = run.tasks;
    expect(Date.parse(second!.startedAt) - Date.parse(first!.finishedAt)).toBeGreaterThanOrEqual(2950);
  }
  const events = (await account.api.get(`/servers/${serverId}/activity?limit=1000`)).body as {
    event: string;
    actor: object;
  }[];
  const kills = events.filter(({ event }) => event === 'server:power.kill');
  expect(kills).toHaveLength(2 * chains.length);
  expect(kills[0]!.actor).toEqual({ type: 'system', id: null });
});

test('settings are read, renamed and switched, the same on both surfaces', async () => {
  const panel = await berth.signIn(account);
  const { api } = account;
  const settings = (await api.get(`/servers/${serverId}/settings`)).expect(200).body as { uuid: string; sftp: object };
  expect(settings).toMatchObject({ name: 'chained', description: '', autoRestart: true });
  expect(settings.sftp).toMatchObject({ host: expect.any(String) as unknown, port: expect.any(Number) as unknown });
  expect((await panel.get(`/servers/${serverId}/settings`)).body).toEqual(settings);

  const renamed = { name: 'other name', description: 'x'.repeat(500) };
  expect((await panel.post(`/servers/${serverId}/settings/rename`, renamed)).expect(200).body).toEqual(renamed);
  const again = (await api.post(`/servers/${serverId}/settings/rename`, { name: 'third' })).expect(200);
  expect(again.body).toEqual({ name: 'third', description: renamed.description });
  (await api.post(`/servers/${serverId}/settings/rename`, { name: 'ab' })).expect(400);
  (await api.post(`/servers/${serverId}/settings/rename`, { name: 'abc', description: 'x'.repeat(501) })).expect(400);
  (await api.post(`/servers/${serverId}/settings/rename`, { name: 'abc', description: null })).expect(400);

  (await api.post(`/servers/${serverId}/settings/auto-restart`, { enabled: false })).expect(200);
  expect((await api.get(`/servers/${serverId}`)).body).toMatchObject({ name: 'third', autoRestart: false });
  (await api.post(`/servers/${serverId}/settings/auto-restart`, { enabled: 'no' })).expect(400);
});

test('alert thresholds are both needed, from 1 to 100 or null', async () => {
  const path = `/servers/${serverId}/settings/alerts`;
  expect((await account.api.get(path)).expect(200).body).toEqual({ ram: null, cpu: null });
  expect((await account.api.post(path, { ram: 87.5, cpu: null })).expect(200).body).toEqual({ ram: 87.5, cpu: null });
  expect((await account.api.get(path)).body).toEqual({ ram: 87.5, cpu: null });
  for (const body of [{ ram: 1 }, { cpu: 1 }, {}, { ram: 0, cpu: 1 }, { ram: 1, cpu: 100.1 }, { ram: '1', cpu: 1 }]) {
    (await account.api.post(path, body)).expect(400);
  }
  expect((await account.api.get(path)).body).toEqual({ ram: 87.5, cpu: null });
});

test('bad schedules are refused with the field that is to blame', async () => {
  const path = `/servers/${serverId}/schedules`;
  for (const [field, value] of [
    ['minute', '60'],
    ['minute', 5],
    ['hour', '24'],
    ['day_of_month', 'L'],
    ['month', '0'],
    ['day_of_week', '8'],
    ['timezone', 'Mars/Olympus'],
    ['timezone', '+02:00'],
    ['isActive', 'yes'],
    ['name', ''],
  ] as const) {
    const { errors } = (await account.api.post(path, { [field]: value })).expect(400).body as {
      errors: { field: string }[];
    };
    expect(errors.map((error) => error.field)).toEqual([field]);
  }
  (await account.api.post(path, { cron: '* * * * *' })).expect(400);
});

test('without a chat platform a notification is kept and says why it was not sent', async () => {
  const panel = await berth.signIn(account);
  const userId = '123456789012345678';
  expect((await panel.put('/me/chat', { userId })).expect(200).body).toEqual({ userId });
  expect((await panel.get('/me/chat')).body).toEqual({ userId });
  for (const bad of ['1234', '123456789012345678901', 'abc', 123456789012345680]) {
    (await panel.put('/me/chat', { userId: bad })).expect(400);
  }
  (await account.api.put('/me/chat', { userId })).expect(404);

  // The simulated program's 48 MB are 37.5 % of what this service has.
  const id = await makeServer('alerted');
  (await account.api.post(`/servers/${id}/settings/alerts`, { ram: 30, cpu: null })).expect(200);
  const [told] = await until(
    'notification',
    async () => {
      const list = (await account.api.get('/notifications')).expect(200).body as { kind: string }[];
      return list.length > 0 && list;
    },
    40_000,
  );
  expect(told).toMatchObject({
    kind: 'alert.ram',
    resourceId: id,
    status: 'NOT_SENT',
    reason: 'not_configured',
    sentAt: null,
  });
  expect((await panel.get('/notifications')).body).toEqual([told]);
});
