import type { Api } from '../support/api.js';
import type { RoleProcess } from '../support/role-process.js';
import { until } from '../support/until.js';
import {
  activity,
  ended,
  Hosting,
  onEngine,
  power,
  powered,
  reach,
  runningServer,
  type Server,
  setVariable,
} from './support/hosting.js';
import { installsProgram, Program } from './support/program.js';

interface Crash {
  exit_code: number | null;
  signal: string | null;
  out_of_memory: number;
  at: Date;
}

interface Obedient {
  server: Server;
  program: Program;
}

onEngine('a program that ends by itself', () => {
  let hosting: Hosting;
  let node: RoleProcess;
  let api: Api;
  let first: Obedient;
  let second: Obedient;

  beforeAll(async () => {
    hosting = await Hosting.start({ roles: ['api', 'worker'] });
    node = await hosting.add(['node']);
    api = (await hosting.berth.makeAccount()).api;
    [first, second] = await Promise.all([obedient(), obedient()]);
  });

  afterAll(() => hosting?.close());

  /** A service that runs the obedient program. */
  async function obedient(): Promise<Obedient> {
    const server = await runningServer(api);
    await setVariable(api, server.id, 'INSTALL_COMMAND', installsProgram());
    const { operationId } = (await api.post(`/servers/${server.id}/reinstall`)).expect(202).body as {
      operationId: string;
    };
    expect((await ended(api, operationId)).body).toMatchObject({ status: 'DONE' });
    const program = new Program(server);
    await program.text();
    return { server, program };
  }

  /** One of the two services, with its program running, a full budget and nothing noted. */
  async function fresh(which = first): Promise<Obedient> {
    const { server, program } = which;
    const { status } = (await api.get(`/servers/${server.id}`)).body as Server;
    if (status !== 'RUNNING') await powered(api, server.id, 'restart');
    await reach(api, server.id, 'RUNNING');
    await program.text();
    await hosting.rows('DELETE FROM server_crashes WHERE server_id = ?', [server.id]);
    return which;
  }

  function crashes(id: string): Promise<Crash[]> {
    return hosting.rows<Crash>(
      'SELECT exit_code, `signal`, out_of_memory, at FROM server_crashes WHERE server_id = ? ORDER BY id',
      [id],
    );
  }

  async function countsCrashes(id: string, count: number): Promise<Crash[]> {
    return until(`${count} crashes`, async () => {
      const found = await crashes(id);
      return found.length >= count ? found : null;
    });
  }

  /** Makes it end and waits until that was noticed and made good. */
  async function comesBack(server: Server, program: Program, order: object, count: number): Promise<Crash> {
    await program.order(order as Record<string, unknown>);
    const found = await countsCrashes(server.id, count);
    await reach(api, server.id, 'RUNNING');
    await program.text();
    return found.at(-1)!;
  }

  test.each([
    ['an exit code other than 0', { exit: 3 }, { exit_code: 3, signal: null, out_of_memory: 0 }],
    ['a signal', { signal: 11 }, { exit_code: 139, signal: 'SIGSEGV', out_of_memory: 0 }],
    ['memory that ran out', { eat: true }, { exit_code: 137, signal: 'SIGKILL', out_of_memory: 1 }],
  ])('%s is a crash: noted, and the program is started again', async (_what, order, expected) => {
    const { server, program } = await fresh();
    expect(await comesBack(server, program, { lines: 150, ...order }, 1)).toMatchObject(expected);
    const entry = (await activity(api, server.id)).findLast(({ event }) => event === 'server:crashed');
    expect(entry?.properties).toMatchObject({
      code: expected.exit_code,
      signal: expected.signal,
      outOfMemory: expected.out_of_memory === 1,
      restart: true,
    });
    const [crash] = (await api.get(`/servers/${server.id}/crashes`)).expect(200).body as { output: string[] }[];
    expect(crash).toMatchObject({
      exitCode: expected.exit_code,
      signal: expected.signal,
      outOfMemory: expected.out_of_memory === 1,
      restarted: true,
    });
    expect(crash!.output).toEqual(Array.from({ length: 100 }, (_, index) => `line ${index + 50}`));
  });

  test('exit code 0 is an end and no crash: the service has stopped', async () => {
    const { server, program } = await fresh();
    await program.order({ exit: 0 });
    await reach(api, server.id, 'STOPPED');
    expect(await crashes(server.id)).toEqual([]);
  });

  test('three restarts after 1, 2 and 4 seconds, then it has crashed; a start by hand gives it three more', async () => {
    const { server, program } = await fresh();
    for (const round of [1, 2, 3]) await comesBack(server, program, { exit: 1 }, round);
    await program.order({ exit: 1 });
    await reach(api, server.id, 'CRASHED');
    const noted = await crashes(server.id);
    expect(noted).toHaveLength(4);
    const restarts = await hosting.rows<{ waited: number }>(
      `SELECT TIMESTAMPDIFF(MICROSECOND, created_at, started_at) / 1000 AS waited FROM operations
        WHERE resource_id = ? AND created_at >= ? AND JSON_VALUE(payload, '$.afterCrash') = 1 ORDER BY id`,
      [server.id, noted[0]!.at],
    );
    expect(restarts).toHaveLength(3);
    for (const [index, least] of [1000, 2000, 4000].entries()) {
      expect(Number(restarts[index]!.waited)).toBeGreaterThanOrEqual(least - 50);
      expect(Number(restarts[index]!.waited)).toBeLessThan(least + 5000);
    }
    expect((await powered(api, server.id, 'start')).body).toMatchObject({ status: 'DONE' });
    await program.text();
    await comesBack(server, program, { exit: 1 }, 5);
  });

  test.each(['stop', 'kill'])('%s between two restarts ends it', async (signal) => {
    const { server, program } = await fresh();
    await comesBack(server, program, { exit: 1 }, 1);
    await program.order({ exit: 1 });
    await countsCrashes(server.id, 2);
    expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ status: 'STARTING' });
    expect((await powered(api, server.id, signal)).body).toMatchObject({ status: 'DONE' });
    await reach(api, server.id, 'STOPPED');
    await hosting.untilQuiet();
    expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ status: 'STOPPED' });
    expect(await program.refuses()).toBe(true);
  });

  test('a program that does not stop when asked keeps running until it is killed, and is not started again', async () => {
    const { server, program } = await fresh();
    await program.order({ ignoreStop: true });
    const stop = await power(api, server.id, 'stop');
    expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ status: 'STOPPING' });
    (await api.post(`/servers/${server.id}/power`, { signal: 'start' })).expect(409);
    expect((await powered(api, server.id, 'kill')).body).toMatchObject({ status: 'DONE' });
    await reach(api, server.id, 'STOPPED');
    await ended(api, stop);
    await hosting.untilQuiet();
    expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ status: 'STOPPED' });
    expect(await crashes(server.id)).toEqual([]);

    await powered(api, server.id, 'start');
    await program.order({ ignoreStop: true });
    expect((await powered(api, server.id, 'stop')).body).toMatchObject({
      status: 'FAILED',
      error: { code: 'stop_timeout' },
    });
    expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ status: 'STOPPING' });
    expect((await powered(api, server.id, 'kill')).body).toMatchObject({ status: 'DONE' });
    await reach(api, server.id, 'STOPPED');
    await powered(api, server.id, 'start');
    await program.order({ ignoreStop: true });
    expect((await powered(api, server.id, 'restart')).body).toMatchObject({ status: 'DONE' });
    await reach(api, server.id, 'RUNNING');
    await program.text();
    expect(await crashes(server.id)).toEqual([]);
  });

  test('what happened while the node was away is noticed when it is back', async () => {
    const [crashed, ended] = await Promise.all([fresh(first), fresh(second)]);
    await node.kill();
    await crashed.program.order({ exit: 5 });
    await ended.program.order({ exit: 0 });
    await until(
      'the programs are over',
      async () => (await crashed.program.refuses()) && (await ended.program.refuses()),
    );
    expect((await api.get(`/servers/${crashed.server.id}`)).body).toMatchObject({ status: 'RUNNING' });
    await node.start();
    const [crash] = await countsCrashes(crashed.server.id, 1);
    expect(crash).toMatchObject({ exit_code: 5 });
    await reach(api, ended.server.id, 'STOPPED');
    await reach(api, crashed.server.id, 'RUNNING');
    await crashed.program.text();
  });

  test('a container that is ended from outside counts as a crash nobody can explain', async () => {
    const { server, program } = await fresh();
    await hosting.engine.killInstance(server.id.replace('_', '-'));
    const [crash] = await countsCrashes(server.id, 1);
    expect(crash).toMatchObject({ exit_code: null, signal: null, out_of_memory: 0 });
    await reach(api, server.id, 'RUNNING');
    await program.text();
  });
});
