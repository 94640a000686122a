import { engineName } from '../../src/modules/lxc/machine.operations.js';
import type { Api } from '../support/api.js';
import type { FaultPoint } from '../support/engine-proxy.js';
import { Hosting, onEngine } from './support/hosting.js';
import { KilledWorker, pointsOf } from './support/killed-worker.js';
import { createMachine, redirect, SshKey, type Machine, type Redirection } from './support/machines.js';

/**
 * A worker is killed where an operation on a machine is half done. The points are a choice: every one is tried on the
 * simulator, in test/integration/faults.
 */
onEngine('a worker that is killed in the middle of a machine', () => {
  let hosting: Hosting;
  let worker: KilledWorker;
  let api: Api;
  let key: SshKey;
  let pilot: Machine;
  let made: Machine[];
  let door: Redirection;

  beforeAll(async () => {
    key = new SshKey();
    hosting = await Hosting.start({ machines: true, roles: ['api', 'node'], env: { STOP_TIMEOUT_SECONDS: '20' } });
    api = (await hosting.berth.makeAccount()).api;
    worker = await KilledWorker.start(hosting);
    pilot = await createMachine(api, key.public);
    await hosting.untilQuiet();
  }, 180_000);
  afterAll(async () => {
    await worker?.close();
    await hosting?.close();
    key?.remove();
  });

  /** Of all points those of one kind of request, the last of them. */
  function lastOf(points: FaultPoint[], what: RegExp, when: FaultPoint['when']): FaultPoint {
    const found = points.filter((point) => what.test(point.what) && point.when === when).at(-1);
    if (!found) throw new Error(`no ${when} ${what} among ${points.map((point) => point.what).join(', ')}`);
    return found;
  }

  const status = async (id: string): Promise<string> =>
    ((await api.get(`/lxc/${id}`)).expect(200).body as Machine).status;

  test('while it creates: each machine is there once, runs, and lets its owner in', async () => {
    const points = pointsOf(worker.proxy.requestsOf(engineName(pilot.id)));
    const chosen = [
      lastOf(points, /^wait for POST \S*\/instances$/, 'after'),
      lastOf(points, /files authorized_keys$/, 'before'),
      lastOf(points, /^wait for PUT .*start$/, 'after'),
    ];
    worker.proxy.holdNewcomers(chosen);
    made = await Promise.all(chosen.map(() => createMachine(api, key.public)));
    await worker.interrupt();
    expect(worker.proxy.ahead).toEqual([]);
    for (const { id } of made) expect(await status(id)).toBe('RUNNING');
    expect(await hosting.inEngine()).toEqual([pilot, ...made].map(({ id }) => `instance ${engineName(id)}`).sort());
    for (const { id } of made) await key.untilIn(await redirect(api, id, { targetPort: 22, protocol: 'tcp' }));
  }, 300_000);

  test('while one is kept, one is opened and one restarts: each ends once, and what was changed is there', async () => {
    const [kept, opened, restarted] = made as [Machine, Machine, Machine];
    const points: [Machine, FaultPoint][] = [
      [kept, { what: 'wait for POST /instances/X/snapshots', occurrence: 0, when: 'after' }],
      [opened, { what: 'wait for PUT /instances/X', occurrence: 0, when: 'after' }],
      [restarted, { what: 'PUT /instances/X/state start', occurrence: 0, when: 'before' }],
    ];
    for (const [{ id }, point] of points) worker.proxy.hold(engineName(id), point);
    (await api.post(`/lxc/${kept.id}/snapshots`, { name: 'once' })).expect(201);
    // The answer waits for the port to be open, and the worker is about to be killed.
    const opening = api.post(`/lxc/${opened.id}/ports`, { targetPort: 22, protocol: 'tcp' });
    (await api.post(`/lxc/${restarted.id}/power/restart`)).expect(202);
    await worker.interrupt();
    const second = (await opening).expect(201).body as Redirection;
    expect(worker.proxy.ahead).toEqual([]);
    expect((await api.get(`/lxc/${kept.id}/snapshots`)).body).toMatchObject([{ name: 'once', status: 'READY' }]);
    expect(await hosting.engine.listSnapshots(engineName(kept.id))).toHaveLength(1);
    expect((await hosting.engine.getInstance(engineName(opened.id))).ports).toHaveLength(2);
    await key.untilIn(second);
    for (const { id } of made) expect(await status(id)).toBe('RUNNING');
    const [ended] = await hosting.rows<{ many: string | number }>(
      "SELECT COUNT(*) AS many FROM operations WHERE status <> 'DONE'",
    );
    expect(Number(ended!.many)).toBe(0);

    const [snapshot] = (await api.get(`/lxc/${kept.id}/snapshots`)).body as { id: string }[];
    const what = `DELETE /instances/X/snapshots/${engineName(snapshot!.id)}`;
    worker.proxy.hold(engineName(kept.id), { what, occurrence: 0, when: 'after' });
    worker.proxy.hold(engineName(opened.id), { what: 'PUT /instances/X', occurrence: 0, when: 'after' });
    (await api.delete(`/lxc/${kept.id}/snapshots/${snapshot!.id}`)).expect(204);
    const closing = api.delete(`/lxc/${opened.id}/ports/${second.id}`);
    await worker.interrupt();
    (await closing).expect(204);
    expect(worker.proxy.ahead).toEqual([]);
    expect(await hosting.engine.listSnapshots(engineName(kept.id))).toEqual([]);
    expect((await hosting.engine.getInstance(engineName(opened.id))).ports).toHaveLength(1);
    await Promise.all(made.map(({ id }) => api.delete(`/lxc/${id}`)));
    await hosting.untilQuiet();
  }, 300_000);

  test('while it restores: the disk, the limits and the ports are what they should be', async () => {
    door = await redirect(api, pilot.id, { targetPort: 22, protocol: 'tcp' });
    await key.untilIn(door, 'echo before > /root/mark; sync');
    const { id } = (await api.post(`/lxc/${pilot.id}/snapshots`, {})).expect(201).body as { id: string };
    await hosting.untilQuiet();
    await key.untilIn(door, 'echo after > /root/mark; sync');
    (await api.patch(`/lxc/${pilot.id}/resources`, { ramMb: 640 })).expect(200);
    worker.proxy.hold(engineName(pilot.id), { what: 'PUT /instances/X', occurrence: 0, when: 'after' });
    (await api.post(`/lxc/${pilot.id}/snapshots/${id}/restore`)).expect(202);
    await worker.interrupt();
    expect(worker.proxy.ahead).toEqual([]);
    expect(await status(pilot.id)).toBe('RUNNING');
    expect(await key.untilIn(door, 'cat /root/mark')).toBe('before');
    expect((await hosting.engine.getInstance(engineName(pilot.id))).limits.memoryMb).toBe(640);
  }, 300_000);

  test('while it deletes: nothing is left', async () => {
    worker.proxy.hold(engineName(pilot.id), { what: 'DELETE /instances/X', occurrence: 0, when: 'after' });
    (await api.delete(`/lxc/${pilot.id}`)).expect(204);
    await worker.interrupt();
    expect(worker.proxy.ahead).toEqual([]);
    expect(await hosting.inEngine()).toEqual([]);
    expect(await hosting.rows('SELECT id FROM machines')).toEqual([]);
    expect(await hosting.rows('SELECT port FROM port_claims')).toEqual([]);
  }, 120_000);
});
