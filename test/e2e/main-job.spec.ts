import type { Api } from '../support/api.js';
import type { TestAccount } from '../support/app.js';
import {
  activity,
  createServer,
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

onEngine('a program is hosted for real', () => {
  let hosting: Hosting;
  let tenant: TestAccount;
  let api: Api;

  beforeAll(async () => {
    hosting = await Hosting.start();
    tenant = await hosting.berth.makeAccount();
    api = tenant.api;
  });

  afterAll(() => hosting?.close());

  test('each runtime installs, runs and answers on its primary port', async () => {
    const greetings = { nodejs: 'Node.js', PYTHON: 'Python', Java: 'Java' };
    await Promise.all(
      Object.entries(greetings).map(async ([runtime, name]) => {
        const ram = 512;
        const made = await createServer(api, { runtime, ram });
        expect(made).toMatchObject({
          status: 'INSTALLING',
          runtime: runtime.toLowerCase(),
          limits: { ram, disk: 512, cpu: 100 },
        });
        const server = await reach(api, made.id, 'RUNNING', 60);
        expect(server.lastOperation).toMatchObject({ type: 'server.create', status: 'DONE', error: null });
        expect(await new Program(server).text(30_000)).toBe(`Hello from your ${name} service\n`);
        const installation = (await api.get(`/servers/${made.id}/installation`)).expect(200).body as Record<
          string,
          unknown
        >;
        expect(installation).toMatchObject({ exitCode: 0, log: expect.stringContaining('starter') as string });
        (await api.delete(`/servers/${made.id}`)).expect(204);
      }),
    );
  });

  describe('one service', () => {
    let server: Server;
    let program: Program;

    beforeAll(async () => {
      server = await runningServer(api);
      program = new Program(server);
      await setVariable(api, server.id, 'INSTALL_COMMAND', installsProgram());
      const { operationId } = (await api.post(`/servers/${server.id}/reinstall`)).expect(202).body as {
        operationId: string;
      };
      expect((await ended(api, operationId)).body).toMatchObject({ status: 'DONE' });
    });

    test('the program runs as nobody special and knows its port, memory and name', async () => {
      expect(await program.environment()).toMatchObject({
        SERVER_PORT: String(server.primaryAllocation.port),
        SERVER_MEMORY: '128',
        SERVER_UUID: server.uuid,
        HOME: '/home/container',
      });
      const { output } = await program.run('sh', '-c', 'id -u; touch /etc/x /usr/x; echo $?; touch x && echo written');
      expect(output).toMatch(/^1000\n1\nwritten\n/);
    });

    test('stop, start, restart and kill lead where they should', async () => {
      const stop = await power(api, server.id, 'stop');
      expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({
        status: expect.stringMatching(/STOPP(ING|ED)/) as string,
      });
      expect((await ended(api, stop)).body).toMatchObject({ status: 'DONE' });
      await reach(api, server.id, 'STOPPED');
      expect(await program.refuses()).toBe(true);
      expect((await powered(api, server.id, 'stop')).body).toMatchObject({ status: 'DONE' });
      expect((await powered(api, server.id, 'kill')).body).toMatchObject({ status: 'DONE' });
      expect((await powered(api, server.id, 'start')).body).toMatchObject({ status: 'DONE' });
      await reach(api, server.id, 'RUNNING');
      await program.text();
      const begun = await program.run('sh', '-c', 'echo here > /tmp/of-this-run; cat /tmp/of-this-run');
      expect(begun.output).toBe('here\n');
      expect((await powered(api, server.id, 'start')).body).toMatchObject({ status: 'DONE' });
      expect((await program.run('cat', '/tmp/of-this-run')).code).toBe(0);
      expect((await powered(api, server.id, 'restart')).body).toMatchObject({ status: 'DONE' });
      await reach(api, server.id, 'RUNNING');
      expect((await program.run('cat', '/tmp/of-this-run')).code).toBe(1);
      expect((await powered(api, server.id, 'kill')).body).toMatchObject({ status: 'DONE' });
      await reach(api, server.id, 'STOPPED');
      expect((await powered(api, server.id, 'restart')).body).toMatchObject({ status: 'DONE' });
      await reach(api, server.id, 'RUNNING');
      await program.text();
    });

    test('usage is that of the program', async () => {
      await program.run('python3', '-c', 'sum(i * i for i in range(4000000))');
      const { body } = (await api.get(`/servers/${server.id}/resources`)).expect(200);
      expect(body).toEqual({
        cpu_percent: expect.any(Number) as number,
        memory_bytes: expect.any(Number) as number,
        disk_bytes: expect.any(Number) as number,
        network: { rx_bytes: expect.any(Number) as number, tx_bytes: expect.any(Number) as number },
        uptime_ms: expect.any(Number) as number,
      });
      const usage = body as { cpu_percent: number; memory_bytes: number; disk_bytes: number; uptime_ms: number };
      expect(usage.cpu_percent).toBeLessThanOrEqual(150);
      expect(usage.memory_bytes).toBeGreaterThan(2 ** 20);
      expect(usage.memory_bytes).toBeLessThanOrEqual(128 * 2 ** 20);
      expect(usage.disk_bytes).toBeGreaterThan(0);
      expect(usage.uptime_ms).toBeGreaterThan(0);
      expect(usage.uptime_ms).toBeLessThan(60_000);
    });

    test.each([
      [`it's "quoted" $HOME \`id\` \\ %s`],
      ['  outer blanks  '],
      ['Grüße, 世界 🚀'],
      ['a=b,c;d#e&f|g>h'],
      [''],
      ['x'.repeat(2000)],
    ])('a variable reaches the program as it was set: %j', async (value) => {
      await setVariable(api, server.id, 'GIT_BRANCH', '');
      // INSTALL_COMMAND takes any text, and the program sees it as any other variable.
      await setVariable(api, server.id, 'INSTALL_COMMAND', value);
      await powered(api, server.id, 'restart');
      expect((await program.environment()).INSTALL_COMMAND ?? '').toBe(value);
      const startup = (await api.get(`/servers/${server.id}/startup`)).body as {
        variables: { key: string; value: string }[];
      };
      expect(startup.variables.find(({ key }) => key === 'INSTALL_COMMAND')?.value).toBe(value);
    });

    test('a changed variable takes effect at the next start and not before', async () => {
      await setVariable(api, server.id, 'INSTALL_COMMAND', 'later');
      expect((await program.environment()).INSTALL_COMMAND).not.toBe('later');
      await powered(api, server.id, 'restart');
      expect((await program.environment()).INSTALL_COMMAND).toBe('later');
    });

    test('a resize is live: memory, processor and disk', async () => {
      const grow = 'import os; f = os.open("big", os.O_CREAT | os.O_WRONLY); os.posix_fallocate(f, 0, 700 << 20)';
      expect((await program.run('python3', '-c', grow)).output).toMatch(/quota|space/i);
      await program.run('rm', '-f', 'big');
      await program.run('sh', '-c', 'echo mark > /tmp/of-this-run');
      const { body } = (await api.patch(`/servers/${server.id}/resources`, { ram: 200, disk: 1024, cpu: 50 })).expect(
        200,
      );
      expect(body).toMatchObject({ appliedLive: true, status: 'RUNNING', limits: { ram: 200, disk: 1024, cpu: 50 } });
      const limit = await program.run(
        'sh',
        '-c',
        'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null',
      );
      expect(Number(limit.output)).toBe(200 * 2 ** 20);
      expect((await program.run('python3', '-c', grow)).output).toBe('');
      expect((await program.run('cat', '/tmp/of-this-run')).output).toBe('mark\n');
    });

    test('a disk cannot be made smaller than what is on it', async () => {
      await program.run('sync');
      const refused = (await api.patch(`/servers/${server.id}/resources`, { disk: 600 })).expect(409);
      expect(refused.body).toMatchObject({ code: 'disk_in_use', currentStatus: 'RUNNING' });
      expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ limits: { disk: 1024 } });
      await program.run('sh', '-c', 'rm big; sync');
      expect((await api.patch(`/servers/${server.id}/resources`, { disk: 600 })).expect(200).body).toMatchObject({
        appliedLive: true,
        limits: { ram: 200, disk: 600 },
      });
    });

    test('its image is one of those offered', async () => {
      (await api.put(`/servers/${server.id}/startup/container-image`, { image: 'debian' })).expect(400);
      const { body } = (await api.put(`/servers/${server.id}/startup/container-image`, { image: 'python' })).expect(
        200,
      );
      expect(body).toMatchObject({ image: 'python', images: ['python'] });
    });

    test('the panel drives the same service', async () => {
      const panel = await hosting.berth.signIn(tenant);
      expect((await panel.get(`/servers/${server.id}`)).expect(200).body).toEqual(
        (await api.get(`/servers/${server.id}`)).body,
      );
      expect((await powered(panel, server.id, 'stop')).body).toMatchObject({ status: 'DONE' });
      await reach(panel, server.id, 'STOPPED');
      expect((await panel.get(`/servers/${server.id}/resources`)).expect(200).body).toMatchObject({
        cpu_percent: 0,
        memory_bytes: 0,
        disk_bytes: expect.any(Number) as number,
        uptime_ms: 0,
      });
      await setVariable(panel, server.id, 'INSTALL_COMMAND', 'by the panel');
      await powered(panel, server.id, 'start');
      expect((await program.environment()).INSTALL_COMMAND).toBe('by the panel');
      const own = await createServer(panel, { name: 'made in the panel' });
      await reach(panel, own.id, 'RUNNING');
      (await panel.delete(`/servers/${own.id}`)).expect(204);
    });

    test('its activity tells what was done and by whom, and no value', async () => {
      const entries = await activity(api, server.id);
      const names = entries.map(({ event }) => event);
      expect(names.slice(0, 2)).toEqual(['server:create', 'server:install.complete']);
      for (const event of [
        'server:startup.edit',
        'server:settings.reinstall',
        'server:reinstall.complete',
        'server:power.stop',
        'server:power.kill',
        'server:resize',
      ])
        expect(names).toContain(event);
      expect(JSON.stringify(entries)).not.toContain('Grüße');
      const actors = entries.map((entry) => (entry as unknown as { actor: { type: string } }).actor.type);
      expect(new Set(actors)).toEqual(new Set(['key', 'session', 'system']));
    });

    test('deleted, it is gone from the API at once and soon from the machine', async () => {
      (await api.delete(`/servers/${server.id}`)).expect(204);
      (await api.get(`/servers/${server.id}`)).expect(404);
      (await api.delete(`/servers/${server.id}`)).expect(404);
      (await api.post(`/servers/${server.id}/power`, { signal: 'start' })).expect(404);
      expect((await api.get('/servers')).body).toEqual([]);
      await hosting.untilQuiet();
      await hosting.expectExactly([]);
      expect(await program.refuses()).toBe(true);
    });
  });
});
