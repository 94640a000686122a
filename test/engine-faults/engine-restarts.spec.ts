import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';
import { createMachine, reachMachine, redirect, SshKey, type Machine } from '../e2e/support/machines.js';
import { Hosting, onEngine, powered, reach, runningServer, type Server } from '../e2e/support/hosting.js';
import { Program } from '../e2e/support/program.js';
import type { Api } from '../support/api.js';
import type { RoleProcess } from '../support/role-process.js';
import { processesOf } from '../support/processes.js';
import { stack } from '../support/stack.js';
import { until } from '../support/until.js';

jest.setTimeout(240_000);

const TABLE = 'berth_faults_restarts';
const TABLES = [TABLE, `${TABLE}_machines`];
/** Long enough for somebody's slow shutdown, and everything else at once. */
const RESUMED_MS = 120_000;

/**
 * An engine that comes up starts nothing: what it would start would run before the node's packet filter stands. The platform
 * starts what is to run.
 */
onEngine('an engine that was down', () => {
  let hosting: Hosting;
  let node: RoleProcess;
  let api: Api;
  let key: SshKey;
  let machine: Machine;
  let offMachine: Machine;
  let service: Server;
  let offService: Server;
  /** One that the engine starts by itself, after all others: when it runs, all have had their turn. */
  let control: Server;

  beforeAll(async () => {
    key = new SshKey();
    hosting = await Hosting.start({
      machines: true,
      roles: ['api', 'worker'],
      env: { FIREWALL: 'on', FIREWALL_TABLE: TABLE },
    });
    node = await hosting.add(['node']);
    api = (await hosting.berth.makeAccount()).api;
    [service, offService, control] = await Promise.all([runningServer(api), runningServer(api), runningServer(api)]);
    const made = await Promise.all([createMachine(api, key.public), createMachine(api, key.public)]);
    [machine, offMachine] = (await Promise.all(made.map(({ id }) => reachMachine(api, id, 'RUNNING')))) as [
      Machine,
      Machine,
    ];
    await powered(api, offService.id, 'stop');
    (await api.post(`/lxc/${offMachine.id}/power/stop`)).expect(202);
    await hosting.untilQuiet();
    (await api.post(`/servers/${service.id}/settings/auto-restart`, { enabled: false })).expect(200);
    const config = { 'boot.autostart': 'true', 'boot.autostart.priority': '-1' };
    await ask('PATCH', `/instances/${nameOf(control)}`, { config });
  });

  afterAll(async () => {
    await stack.engine.start();
    await hosting?.close();
    key?.remove();
    for (const table of TABLES)
      execFileSync('nft', ['-f', '-'], { input: `table inet ${table}\ndelete table inet ${table}\n` });
  });

  /** A request to the engine that is none of the platform's. */
  async function ask<T>(method: 'GET' | 'PATCH', path: string, body?: object): Promise<T> {
    const dispatcher = new Agent({ connect: { socketPath: stack.env().ENGINE_URL!.replace(/^unix:/, '') } });
    const query = { project: hosting.berth.env.ENGINE_PROJECT! };
    const options = { method, query, dispatcher, ...(body && { body: JSON.stringify(body) }) };
    const answer = await request(`http://engine/1.0${path}`, options);
    const { metadata } = (await answer.body.json()) as { metadata: T };
    await dispatcher.destroy();
    if (answer.statusCode >= 400) throw new Error(`${method} ${path}: ${answer.statusCode}`);
    return metadata;
  }

  const nameOf = ({ id }: { id: string }): string => id.replace('_', '-');

  async function runningInEngine(): Promise<string[]> {
    const all = await hosting.engine.listInstances();
    return all.flatMap(({ name, state }) => (state === 'stopped' ? [] : name)).sort();
  }

  function standing(): boolean {
    const listed = execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' }).split('\n');
    return TABLES.every((table) => listed.includes(`table inet ${table}`));
  }

  /** What is to run runs and answers, what was stopped is, and nobody was blamed for it. */
  async function allAsBefore(): Promise<void> {
    const meant = [service, control, machine].map(nameOf).sort();
    await until('what is to run runs', async () => isDeepStrictEqual(await runningInEngine(), meant), RESUMED_MS);
    await hosting.untilQuiet();
    await Promise.all([service, control].map(({ id }) => reach(api, id, 'RUNNING')));
    await reachMachine(api, machine.id, 'RUNNING');
    await reach(api, offService.id, 'STOPPED');
    await reachMachine(api, offMachine.id, 'STOPPED');
    expect(await runningInEngine()).toEqual(meant);
    expect(await new Program(service).text(20_000)).toContain('Hello');
    expect(await hosting.rows('SELECT id FROM server_crashes')).toEqual([]);
    expect(await hosting.rows("SELECT type, error_code FROM operations WHERE status <> 'DONE'")).toEqual([]);
  }

  test('starts nothing by itself; the node does once its packet filter stands', async () => {
    await node.kill();
    await stack.engine.stop();
    for (const table of TABLES) execFileSync('nft', ['delete', 'table', 'inet', table]);
    await stack.engine.start();
    await until('the one that it starts', async () => (await runningInEngine()).length > 0);
    expect(await runningInEngine()).toEqual([nameOf(control)]);
    expect(standing()).toBe(false);

    const starting = node.start();
    const samples: { standing: boolean; running: string[] }[] = [];
    await until(
      'the others run',
      async () => {
        // In this order: what runs in a sample was started before the filter was looked for.
        const running = await runningInEngine();
        samples.push({ running, standing: standing() });
        return running.length === 3;
      },
      RESUMED_MS,
    );
    await starting;
    expect(samples.filter(({ running, standing: stood }) => running.length > 1 && !stood)).toEqual([]);
    await allAsBefore();
    // As it is with what an earlier release made.
    await ask('PATCH', `/instances/${nameOf(control)}`, { config: { 'boot.autostart': '' } });
    await hosting.engine.ensureProject();
    const { config } = await ask<{ config: object }>('GET', `/instances/${nameOf(control)}`);
    expect(config).toMatchObject({ 'boot.autostart': 'false' });
    const door = await redirect(api, machine.id, { targetPort: 22, protocol: 'tcp' });
    expect(await key.untilIn(door, 'echo in')).toBe('in');
  });

  test('is made good while the platform goes on, after an orderly end', async () => {
    await stack.engine.restart();
    await allAsBefore();
  });

  test('and after a loss of power', async () => {
    const names = await runningInEngine();
    const states = await Promise.all(names.map((name) => ask<{ pid: number }>('GET', `/instances/${name}/state`)));
    await stack.engine.kill();
    // Those that watch over the containers first: they would tell the next engine of an end it is not to hear of.
    const watchers = await processesOf(
      ([words = '']) => words.startsWith('[lxc monitor]') && names.some((name) => words.endsWith(`_${name}`)),
    );
    expect(watchers).toHaveLength(names.length);
    for (const pid of [...watchers, ...states.map(({ pid }) => pid)]) process.kill(pid, 'SIGKILL');
    await stack.engine.start();
    await allAsBefore();
  });

  test('what outlives the engine goes on as it was', async () => {
    const pids = async () =>
      Promise.all(
        (await runningInEngine()).map(
          async (name) => (await ask<{ pid: number }>('GET', `/instances/${name}/state`)).pid,
        ),
      );
    const before = await pids();
    await stack.engine.kill();
    await stack.engine.start();
    // As long as it takes the node to be sure that something was interrupted.
    const since = await hosting.rows<{ at: Date }>('SELECT MAX(last_seen_at) AS at FROM nodes');
    await until('two more reports', async () => {
      const [row] = await hosting.rows<{ many: number }>(
        'SELECT COUNT(*) AS many FROM nodes WHERE last_seen_at > ? + INTERVAL 9 SECOND',
        [since[0]!.at],
      );
      return Number(row!.many) > 0;
    });
    await allAsBefore();
    expect(await pids()).toEqual(before);
  });
});
