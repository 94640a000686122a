import {
  ALLOWED_ACTIONS,
  POWER_SIGNALS,
  SERVER_STATUSES,
  type ServerAction,
  type ServerStatus,
} from '../../src/modules/servers/server-status.js';
import type { Answer, Api } from '../support/api.js';
import { startBerth, type Berth } from '../support/app.js';
import { holdInvariants } from './support/invariants.js';
import { World, type Person } from './support/world.js';

let berth: Berth;
let world: World;
let person: Person;
let id: string;
/** A backup of that service. */
let uuid: string;

/** Without a worker: what was accepted stays as it was accepted. */
beforeAll(async () => {
  berth = await startBerth({ roles: ['api'] });
  holdInvariants(berth);
  world = new World(berth);
  person = await world.person();
  ({ id } = (
    await person.api.post('/servers', { name: 'states', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 })
  ).expect(201).body);
  await put('STOPPED');
  ({ uuid } = (await person.api.post(`/servers/${id}/backups`)).expect(201).body);
});
afterAll(() => berth?.close());

async function put(status: ServerStatus): Promise<void> {
  await berth.database.query('DELETE FROM operations WHERE resource_id = ?', [id]);
  await berth.database.query('DELETE FROM allocations WHERE server_id = ? AND NOT is_primary', [id]);
  await berth.database.query('UPDATE servers SET status = ? WHERE id = ?', [status, id]);
}

async function statusNow(): Promise<string> {
  return (await berth.database.query<{ status: string }[]>('SELECT status FROM servers WHERE id = ?', [id]))[0]!.status;
}

async function unfinished(): Promise<string[]> {
  const rows = await berth.database.query<{ id: string }[]>(
    'SELECT id FROM operations WHERE resource_id = ? AND active_key IS NOT NULL',
    [id],
  );
  return rows.map((row) => row.id);
}

const CALL: Record<ServerAction, (api: Api) => Promise<Answer>> = {
  ...(Object.fromEntries(
    POWER_SIGNALS.map((signal) => [signal, (api: Api) => api.post(`/servers/${id}/power`, { signal })]),
  ) as Record<(typeof POWER_SIGNALS)[number], (api: Api) => Promise<Answer>>),
  reinstall: (api) => api.post(`/servers/${id}/reinstall`),
  retry: (api) => api.post(`/servers/${id}/retry`),
  image: (api) => api.put(`/servers/${id}/startup/container-image`, { image: 'nodejs' }),
  ports: (api) => world.settle(id, api.post(`/servers/${id}/allocations`, { protocol: 'tcp' })),
  restore: async (api) => {
    await berth.database.query("UPDATE server_backups SET status = 'READY' WHERE server_id = ?", [id]);
    return api.post(`/servers/${id}/backups/${uuid}/restore`);
  },
  resize: (api) => world.settle(id, api.patch(`/servers/${id}/resources`, { ram: 256 })),
};

const visible = SERVER_STATUSES.filter((status) => status !== 'DELETING');
const cells = visible.flatMap((status) =>
  Object.entries(ALLOWED_ACTIONS[status]).map(
    ([action, verdict]) => [status, action as ServerAction, verdict] as const,
  ),
);

test.each(cells)('%s: %s, %s', async (status, action, verdict) => {
  for (const api of [person.api, person.panel]) {
    await put(status);
    const answer = await CALL[action](api);
    if (verdict === 'refuse') {
      expect(answer.expect(409).body).toMatchObject({ code: 'state_conflict', currentStatus: status });
      expect([await statusNow(), await unfinished()]).toEqual([status, []]);
      continue;
    }
    answer.expect(200, 201, 202);
    if (answer.status !== 202) continue;
    const { operationId } = answer.body as { operationId: string };
    const operation = (await api.get(`/operations/${operationId}`)).expect(200).body;
    expect(operation.resourceId).toBe(id);
    expect([operation.status, await unfinished()]).toEqual(
      verdict === 'run' ? ['QUEUED', [operationId]] : ['DONE', []],
    );
    if (verdict === 'nothing') expect(await statusNow()).toBe(status);
  }
});

test('what the contract says of power holds in the table', () => {
  for (const status of visible) expect(ALLOWED_ACTIONS[status].kill).not.toBe('refuse');
  expect(ALLOWED_ACTIONS.RUNNING).toMatchObject({ start: 'nothing', stop: 'run', restart: 'run', kill: 'run' });
  expect(ALLOWED_ACTIONS.STOPPED).toMatchObject({ start: 'run', stop: 'nothing', restart: 'run' });
  expect(ALLOWED_ACTIONS.CRASHED).toMatchObject({ start: 'run', stop: 'nothing', restart: 'run' });
  expect(ALLOWED_ACTIONS.INSTALL_FAILED.retry).toBe('run');
  for (const status of visible.filter((other) => other !== 'INSTALL_FAILED'))
    expect(ALLOWED_ACTIONS[status].retry).toBe('refuse');
});

test('what is being deleted is gone, whatever is asked of it', async () => {
  await put('DELETING');
  for (const api of [person.api, person.panel]) {
    for (const call of Object.values(CALL)) (await call(api)).expect(404);
    for (const path of ['', '/resources', '/startup', '/activity', '/installation'])
      (await api.get(`/servers/${id}${path}`)).expect(404);
    (await api.delete(`/servers/${id}`)).expect(404);
    expect((await api.get('/servers')).expect(200).body).toEqual([]);
  }
});

test('a second change while one is under way is told what it waits for', async () => {
  await put('STOPPED');
  const { operationId } = (await person.api.post(`/servers/${id}/power`, { signal: 'start' })).expect(202).body;
  await berth.database.query("UPDATE servers SET status = 'STOPPED' WHERE id = ?", [id]);
  for (const action of ['start', 'restart', 'reinstall'] as const) {
    const answer = (await CALL[action](person.panel)).expect(409);
    expect(answer.body).toMatchObject({ code: 'busy', operationId });
    expect(answer.body.currentStatus).toBe('STOPPED');
  }
});

test('kill passes what is stuck, and twice is once', async () => {
  await put('RUNNING');
  const stop = (await person.api.post(`/servers/${id}/power`, { signal: 'stop' })).expect(202).body
    .operationId as string;
  const kills = await Promise.all(
    [person.api, person.panel].map((api) => api.post(`/servers/${id}/power`, { signal: 'kill' })),
  );
  const operations = new Set(kills.map((answer) => answer.expect(202).body.operationId as string));
  expect(operations.size).toBe(1);
  expect((await unfinished()).sort()).toEqual([stop, ...operations].sort());
});

test('of many signals at once one is carried out', async () => {
  await put('STOPPED');
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => person.api.post(`/servers/${id}/power`, { signal: 'restart' })),
  );
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect(await unfinished()).toHaveLength(1);
});
