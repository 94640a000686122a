import { startBerth, type Berth } from '../support/app.js';
import { holdInvariants } from './support/invariants.js';
import { World, type Person } from './support/world.js';

let berth: Berth;
let world: World;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'] });
  holdInvariants(berth);
  world = new World(berth);
});
afterAll(() => berth?.close());

const PARALLEL = 50;
const small = { name: 'quota', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 };
const QUOTAS = ['servers', 'ram', 'disk', 'cpu', 'databases'] as const;
type Quota = (typeof QUOTAS)[number];

async function sums({ id }: Person): Promise<Record<Quota, number>> {
  const [row] = await berth.database.query<Record<Quota, string>[]>(
    `SELECT COUNT(*) AS servers, COALESCE(SUM(ram), 0) AS ram, COALESCE(SUM(disk), 0) AS disk, COALESCE(SUM(cpu), 0) AS cpu,
            COUNT(d.id) AS \`databases\`
       FROM servers s LEFT JOIN service_databases d ON d.server_id = s.id
      WHERE s.account_id = ? AND s.status <> 'DELETING'`,
    [id],
  );
  return Object.fromEntries(QUOTAS.map((name) => [name, Number(row![name])])) as Record<Quota, number>;
}

describe('fifty requests at once get what the plan allows and no more, by key and by session', () => {
  test.each<[Quota, number, number, number]>([
    ['servers', 7, 1, 7],
    ['ram', 1000, 192, 5],
    ['disk', 5120, 1024, 5],
    ['cpu', 199, 50, 3],
    ['databases', 3, 1, 3],
  ])('%s: %i allowed, %i each, %i fit', async (name, allowed, each, fit) => {
    await world.makePlan(`only-${name}`, { [name]: allowed });
    const person = await world.person(`only-${name}`);
    const asked = name === 'databases' ? { withDatabase: true } : name === 'servers' ? {} : { [name]: each };
    const wanted = { ...small, ...asked };
    const answers = await Promise.all(
      Array.from({ length: PARALLEL }, (_, index) => (index % 2 ? person.api : person.panel).post('/servers', wanted)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(fit);
    const refused = answers.filter(({ status }) => status !== 201);
    for (const answer of refused) {
      expect(answer.expect(403).body).toMatchObject({
        code: 'quota_exceeded',
        limit: { name, allowed, used: fit * each, requested: each },
      });
    }
    expect(await sums(person)).toMatchObject({ servers: fit, [name]: fit * each });
  });

  test('a place that is given back can be taken at once, by one', async () => {
    await world.makePlan('three', { servers: 3 });
    const person = await world.person('three');
    for (let made = 0; made < 3; made++) (await person.api.post('/servers', small)).expect(201);
    const [{ id }] = (await person.api.get('/servers')).expect(200).body as [{ id: string }];
    (await person.panel.delete(`/servers/${id}`)).expect(204);
    const answers = await Promise.all(Array.from({ length: 20 }, () => person.api.post('/servers', small)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  test('making and resizing together do not add up to more', async () => {
    await world.makePlan('resized', { ram: 1024 });
    const person = await world.person('resized');
    const { id } = (await person.api.post('/servers', small)).expect(201).body;
    await berth.database.query("UPDATE servers SET status = 'STOPPED' WHERE id = ?", [id]);
    await berth.database.query('DELETE FROM operations WHERE resource_id = ?', [id]);
    const resize = world.settle(id, person.api.patch(`/servers/${id}/resources`, { ram: 640 }));
    await Promise.all([resize, ...Array.from({ length: 20 }, () => person.panel.post('/servers', small))]);
    expect((await sums(person)).ram).toBeLessThanOrEqual(1024);
  });
});

describe('a refusal', () => {
  test.each([
    ['ram', 512, 513],
    ['disk', 1024, 1025],
    ['cpu', 100, 101],
  ])('of a resize names the limit: %s', async (name, allowed, wanted) => {
    await world.makePlan(`tight-${name}`, { [name]: allowed });
    const person = await world.person(`tight-${name}`);
    const { id } = (await person.api.post('/servers', small)).expect(201).body;
    await berth.database.query("UPDATE servers SET status = 'STOPPED' WHERE id = ?", [id]);
    await berth.database.query('DELETE FROM operations WHERE resource_id = ?', [id]);
    for (const api of [person.api, person.panel]) {
      const { body } = (await api.patch(`/servers/${id}/resources`, { [name]: wanted })).expect(403);
      expect(body).toMatchObject({ code: 'quota_exceeded', limit: { name, allowed, used: 0, requested: wanted } });
      expect(body.detail).toMatch(/\S/);
    }
    expect((await person.api.get(`/servers/${id}`)).expect(200).body.limits[name]).toBe(
      (small as Record<string, unknown>)[name],
    );
  });

  test('for quota comes after those for scope and for the body, and leaves nothing behind', async () => {
    await world.makePlan('none', { servers: 0 });
    const person = await world.person('none');
    expect((await person.readOnly.post('/servers', small)).expect(403).body.code).toBe('scope_missing');
    expect((await person.api.post('/servers', { ...small, ram: 9000 })).expect(400).body.errors[0].field).toBe('ram');
    (await person.api.post('/servers', { ...small, surplus: 1 })).expect(400);
    expect((await person.api.post('/servers', small)).expect(403).body.limit).toEqual({
      name: 'servers',
      allowed: 0,
      used: 0,
      requested: 1,
    });
    for (const table of ['servers', 'operations', 'activity_events']) {
      const rows = await berth.database.query(`SELECT * FROM ${table} WHERE account_id = ?`, [person.id]);
      expect([table, rows.filter((row) => !String(row['event']).startsWith('user:'))]).toEqual([table, []]);
    }
    const [row] = await berth.database.query(
      'SELECT COUNT(*) AS n FROM allocations WHERE server_id NOT IN (SELECT id FROM servers)',
    );
    expect(Number(row!['n'])).toBe(0);
  });

  test('of one account is not felt by another', async () => {
    await world.makePlan('one', { servers: 1 });
    const [one, other] = await Promise.all([world.person('one'), world.person('one')]);
    (await one.api.post('/servers', small)).expect(201);
    (await one.api.post('/servers', small)).expect(403);
    (await other.api.post('/servers', small)).expect(201);
  });

  test('a plan that was lowered below what is in use still lets things be made smaller', async () => {
    await world.makePlan('lowered', { ram: 1024 });
    const person = await world.person('lowered');
    const { id } = (await person.api.post('/servers', { ...small, ram: 1024 })).expect(201).body;
    await berth.database.query("UPDATE plans SET ram = 256 WHERE id = 'lowered'");
    await berth.database.query("UPDATE servers SET status = 'STOPPED' WHERE id = ?", [id]);
    await berth.database.query('DELETE FROM operations WHERE resource_id = ?', [id]);
    (await person.api.patch(`/servers/${id}/resources`, { ram: 1025 })).expect(403);
    (await world.settle(id, person.api.patch(`/servers/${id}/resources`, { ram: 512 }))).expect(200);
    // The rows follow when a worker has done it.
    const resizes = await berth.database.query(
      "SELECT JSON_VALUE(payload, '$.to.ram') AS ram FROM operations WHERE resource_id = ?",
      [id],
    );
    expect(resizes.map(({ ram }) => Number(ram))).toEqual([512]);
  });
});

test('the plans of the contract are there', async () => {
  const plans = await berth.database.query(
    "SELECT id, servers, ram, disk, cpu FROM plans WHERE id IN ('free', 'pro') ORDER BY id",
  );
  expect(plans).toEqual([
    { id: 'free', servers: 2, ram: 1024, disk: 5120, cpu: 200 },
    { id: 'pro', servers: 20, ram: 32_768, disk: 204_800, cpu: 2000 },
  ]);
});
