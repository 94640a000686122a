import type { TestAccount } from '../support/app.js';
import { ended, Hosting, onEngine, runningServer, SMALL, type Server, setVariable } from './support/hosting.js';
import { installsProgram, Program } from './support/program.js';

onEngine('tenants', () => {
  let hosting: Hosting;
  let accounts: TestAccount[];
  let servers: Server[];
  let programs: Program[];
  /** Addresses of the two services on the app network. */
  let addresses: string[];

  beforeAll(async () => {
    hosting = await Hosting.start();
    accounts = await Promise.all([hosting.berth.makeAccount(), hosting.berth.makeAccount()]);
    servers = await Promise.all(
      accounts.map(async ({ api }) => {
        const server = await runningServer(api);
        await setVariable(api, server.id, 'INSTALL_COMMAND', installsProgram());
        const { body } = (await api.post(`/servers/${server.id}/reinstall`)).expect(202);
        await ended(api, (body as { operationId: string }).operationId);
        return server;
      }),
    );
    programs = servers.map((server) => new Program(server));
    addresses = await Promise.all(
      servers.map(async ({ id }) => (await hosting.engine.getInstance(id.replace('_', '-'))).address!),
    );
  });

  afterAll(() => hosting?.close());

  /** What a program of the first tenant gets from an address. */
  async function fetched(url: string, seconds = 3): Promise<string> {
    const script = `
import urllib.request, urllib.error
try:
    answer = urllib.request.urlopen('${url}', timeout=${seconds})
    print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except Exception as error:
    print('failed', error)`;
    return (await programs[0]!.run('python3', '-c', script)).output.trim();
  }

  test('a program cannot reach another tenant inside, and is reached by everybody on its public port', async () => {
    const { port } = servers[1]!.primaryAllocation;
    expect(await fetched(`http://${addresses[1]}:${port}/`)).toMatch(/^failed/);
    expect(await programs[1]!.text()).toContain('environment');
  });

  test('the broker tells a program which service it is, by its address alone', async () => {
    const answer = await fetched(`http://${hosting.gateway}:7458/v1/health`);
    expect(answer).toMatch(/^200 /);
    expect(JSON.parse(answer.slice(4))).toEqual({ ok: true, service: servers[0]!.id });
    const { output } = await programs[1]!.run(
      'python3',
      '-c',
      `import urllib.request as u; print(u.urlopen('http://${hosting.gateway}:7458/v1/health').read().decode())`,
    );
    expect(JSON.parse(output)).toEqual({ ok: true, service: servers[1]!.id });
  });

  test('the broker listens on the app network and nowhere else, and knows nobody but programs', async () => {
    await expect(fetch('http://127.0.0.1:7458/v1/health')).rejects.toThrow();
    const stranger = await fetch(`http://${hosting.gateway}:7458/v1/health`);
    expect(stranger.status).toBe(403);
    expect(await stranger.json()).toEqual({ ok: false });
  });

  test('the platform itself is out of reach of programs', async () => {
    for (const port of [hosting.berth.env.PORT, hosting.berth.env.INTERNAL_PORT, '3321', '6321'])
      expect(await fetched(`http://${hosting.gateway}:${port}/`, 1)).toMatch(/^failed/);
  });

  test('50 services at once at the edge of the plan: exactly what it allows', async () => {
    const { api, id } = await hosting.berth.makeAccount('free');
    await hosting.rows("UPDATE plans SET servers = 4, ram = 100000, disk = 100000, cpu = 10000 WHERE id = 'free'");
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.post('/servers', SMALL)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(4);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([403]));
    expect(refused[0]!.body).toMatchObject({
      code: 'quota_exceeded',
      limit: { name: 'servers', allowed: 4, used: 4, requested: 1 },
    });
    expect((await hosting.rows('SELECT id FROM servers WHERE account_id = ?', [id])).length).toBe(4);
    await Promise.all(made.map(async ({ body }) => (await api.delete(`/servers/${(body as Server).id}`)).expect(204)));
    await hosting.untilQuiet();
    await hosting.expectExactly(servers.map((server) => server.id));
  });
});
