import type { Api } from '../support/api.js';
import { EngineProxy } from '../support/engine-proxy.js';
import { stack } from '../support/stack.js';
import { until } from '../support/until.js';
import { BrokerClient } from './support/broker-client.js';
import {
  createServer,
  ended,
  Hosting,
  onEngine,
  powered,
  reach,
  runningServer,
  type Server,
} from './support/hosting.js';

/** Reads its secrets over and over, and prints each different answer once, with how often it came. */
const READ_ON = `
import collections, http.client, json, sys, time
seen = collections.Counter()
until = time.time() + float(sys.argv[2])
while time.time() < until:
    try:
        connection = http.client.HTTPConnection(sys.argv[1], 7458, timeout=10)
        connection.request('GET', '/v1/secrets')
        answer = connection.getresponse()
        body = answer.read().decode()
        seen[(answer.status, body if answer.status == 200 else '')] += 1
        connection.close()
    except OSError as error:
        seen[(0, type(error).__name__)] += 1
    # On a fast machine it would use up the room that a service has for reads that wait to be recorded.
    time.sleep(0.002)
print(json.dumps([[status, body, count] for (status, body), count in seen.items()]))
`;

type Seen = [status: number, body: string, count: number][];

onEngine('the broker, when what it needs is away', () => {
  let proxy: EngineProxy;
  let hosting: Hosting;
  let api: Api;
  let server: Server;
  let program: BrokerClient;

  beforeAll(async () => {
    proxy = await EngineProxy.start(stack.env().ENGINE_URL!);
    hosting = await Hosting.start({
      processes: [['api'], ['worker', 'node']],
      env: { BROKER_READS_PER_MINUTE: '100000' },
    });
    await hosting.add(['broker'], { ENGINE_URL: proxy.url });
    api = (await hosting.berth.makeAccount()).api;
    server = await runningServer(api);
    program = new BrokerClient(hosting, server.id);
    await put(server.id, 'canary-first');
    await until('its secrets', () => program.secrets().catch(() => null));
  }, 180_000);

  // Only when one is tried once more: what the first try broke is not to break this one.
  beforeEach(async () => {
    const controlPlane = hosting.berth.process('api');
    if (!controlPlane.running) await controlPlane.start();
  });

  afterAll(async () => {
    await hosting?.close();
    proxy?.close();
  });

  async function put(id: string, value: string): Promise<void> {
    expect((await api.put(`/servers/${id}/vault`, { key: 'OWN', value })).status).toBeLessThan(300);
  }

  async function recorded(id = server.id): Promise<number> {
    const sql =
      'SELECT COUNT(*) AS n, COUNT(DISTINCT read_id) AS d FROM vault_reads WHERE server_id = ? AND refused IS NULL';
    const [row] = await hosting.rows<{ n: string | number; d: string | number }>(sql, [id]);
    expect(Number(row!.n)).toBe(Number(row!.d));
    return Number(row!.n);
  }

  async function readOn(who: BrokerClient, seconds: number): Promise<Seen> {
    return JSON.parse(await who.python(READ_ON, hosting.gateway, String(seconds))) as Seen;
  }

  test('the control plane killed under load: every answer is recorded, once, when it is back', async () => {
    const before = await recorded();
    const reading = readOn(program, 6);
    await until('reads', async () => (await recorded()) > before + 20);
    await hosting.berth.process('api').kill();
    const seen = await reading;
    expect(seen.map(([status, body]) => [status, body])).toEqual([[200, '{"OWN":"canary-first"}']]);
    expect((await program.ask('/v1/health')).status).toBe(200);
    expect((await program.ask('/v1/env')).body).toBe('OWN=canary-first\n');
    const served = seen[0]![2] + 1;
    await hosting.berth.process('api').start();
    // A request that was cut off may have been recorded without an answer to its programs: they were answered from memory.
    await until('the records', async () => (await recorded()) === before + served);
    const { body } = await api.get(`/servers/${server.id}/vault/access`);
    expect((body as { keys: string[]; via: string }[])[0]).toMatchObject({ keys: ['OWN'], via: 'broker' });
  });

  test('a restart forgets what was served; nobody else is served it', async () => {
    const other = await runningServer(api);
    const stranger = new BrokerClient(hosting, other.id);
    await put(other.id, 'canary-other');
    await program.secrets();
    await hosting.berth.process('api').stop();
    try {
      expect(await program.secrets()).toEqual({ OWN: 'canary-first' });
      const refused = await stranger.ask('/v1/secrets');
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '2']);
      await hosting.engine.stopInstance(program.instance, 5000);
      await hosting.engine.startInstance(program.instance);
      await until('its container', () =>
        program.run(['true']).then(
          () => true,
          () => false,
        ),
      );
      const again = await program.ask('/v1/secrets');
      expect([again.status, again.body.includes('canary')]).toEqual([503, false]);
    } finally {
      await hosting.berth.process('api').start();
    }
    await until('secrets', () => stranger.secrets().catch(() => null));
    expect(await stranger.secrets()).toEqual({ OWN: 'canary-other' });
    (await api.delete(`/servers/${other.id}`)).expect(204);
    await hosting.untilQuiet();
    await reach(api, server.id, 'RUNNING');
    await until('its secrets', () => program.secrets().catch(() => null));
  });

  test('the engine away: nobody can be told, and all are known again when it is back', async () => {
    await program.secrets();
    proxy.away();
    await until('that it is noticed', async () => (await program.ask('/v1/secrets')).status === 503);
    const { status, headers } = await program.ask('/v1/health');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    await proxy.back();
    await until('its secrets', () => program.secrets().catch(() => null));
  });

  test('stopped, deleted and replaced: the next one with the address reads its own secrets only', async () => {
    let before: { id: string; address: string } | null = null;
    for (let round = 0; round < 4; round++) {
      const { id } = await createServer(api);
      await put(id, `canary-${id}`);
      const client = new BrokerClient(hosting, id);
      await until(
        'its container',
        () =>
          client.run(['true']).then(
            () => true,
            () => false,
          ),
        30_000,
      );
      const reading = readOn(client, 3).catch(() => null);
      await reach(api, id, 'RUNNING');
      const seen = await reading;
      const address = await client.address();
      if (before) expect(address).toBe(before.address);
      const served = (seen ?? []).filter(([status]) => status === 200);
      expect(served).toHaveLength(1);
      expect(served[0]![1]).toBe(`{"OWN":"canary-${id}"}`);
      const pending = readOn(client, 20).catch(() => null);
      (await api.delete(`/servers/${id}`)).expect(204);
      await hosting.untilQuiet();
      await pending;
      // The next one gets this one at once, as if it had rested long enough.
      await hosting.rows(
        `UPDATE app_addresses SET released_at = UTC_TIMESTAMP(3) - INTERVAL (ip = INET_ATON(?)) HOUR
          WHERE server_id IS NULL`,
        [address],
      );
      before = { id, address };
    }
  });

  test('the reinstalled service is a new run with the same name, and is known', async () => {
    await program.secrets();
    const { body } = (await api.post(`/servers/${server.id}/reinstall`)).expect(202);
    await ended(api, (body as { operationId: string }).operationId);
    await until('its secrets', () => program.secrets().catch(() => null));
    await powered(api, server.id, 'restart');
    await until('its secrets', () => program.secrets().catch(() => null));
    expect(await program.secrets()).toEqual({ OWN: 'canary-first' });
  });
});
