import { readFileSync } from 'node:fs';
import {
  consoleKey,
  signConsoleToken,
  WATCHING,
  ACTING,
  type ConsoleGrant,
} from '../../src/platform/internal-api/console-token.js';
import { ConsoleCommandsProbe } from './support/schedule-command.js';
import type { Api } from '../support/api.js';
import type { TestAccount } from '../support/app.js';
import { until } from '../support/until.js';
import { consoleAccess, WingsClient } from './support/console-client.js';
import { activity, Hosting, onEngine, powered, reach, runningServer, type Server } from './support/hosting.js';

const SOURCE = `
import sys
print('listening', flush=True)
for line in sys.stdin:
    words = line.split()
    if words and words[0] == 'flood':
        for n in range(int(words[1])):
            print('flood', n)
        sys.stdout.flush()
    elif words and words[0] == 'exit':
        sys.exit(int(words[1]))
    else:
        print('heard ' + line.rstrip('\\n'), flush=True)
`;

onEngine('the live console', () => {
  let hosting: Hosting;
  let tenant: TestAccount;
  let api: Api;
  let server: Server;

  /** A service whose program says what it hears. */
  async function listening(owner: Api): Promise<Server> {
    const made = await runningServer(owner);
    const packed = Buffer.from(SOURCE).toString('base64');
    const { jobId } = (
      await owner.post(`/servers/${made.id}/exec`, { command: `echo ${packed} | base64 -d > main.py` })
    ).expect(202).body;
    await owner.waitFor(`/servers/${made.id}/exec/${jobId}`, 'DONE');
    await powered(owner, made.id, 'restart');
    return reach(owner, made.id, 'RUNNING');
  }

  beforeAll(async () => {
    hosting = await Hosting.start();
    tenant = await hosting.berth.makeAccount();
    api = tenant.api;
    server = await listening(api);
  });
  // A test that failed half-way may have left it stopped, and the next ones would fail for that alone.
  beforeEach(async () => {
    if ((await api.get(`/servers/${server.id}`)).body.status !== 'RUNNING') await powered(api, server.id, 'start');
  });
  afterEach(() => WingsClient.closeAll());
  afterAll(() => hosting?.close());

  test('lets in, tells the state, hands on commands and shows what is printed, with history', async () => {
    const access = await consoleAccess(api, server.id);
    expect(access.socket).toBe(`${hosting.berth.env['CONSOLE_URL']}/api/servers/${server.uuid}/ws`);
    const left = new Date(access.expiresAt).getTime() - Date.now();
    expect(left).toBeGreaterThan(590_000);
    expect(left).toBeLessThanOrEqual(600_000);
    const client = await WingsClient.connect(access.socket);
    client.send('send stats');
    expect(await client.event('jwt error')).toContain('no jwt');
    client.send('auth', access.token);
    expect(await client.event('status')).toBe('running');
    expect(client.frames.map(({ event }) => event).slice(1, 3)).toEqual(['auth success', 'status']);
    client.send('send logs');
    await client.line('listening');
    client.send('send command', 'good day');
    await client.line('heard good day');
    client.send('send command', 'two\nlines\u0003\u0004');
    await client.line('heard lines');
    expect(client.lines.slice(client.lines.indexOf('heard good day'))).toEqual([
      'heard good day',
      'heard two',
      'heard lines',
    ]);
    const stats = JSON.parse(await client.event('stats', 2)) as Record<string, any>;
    expect(stats).toMatchObject({ state: 'running', memory_limit_bytes: 128 * 2 ** 20 });
    expect(stats.memory_bytes).toBeGreaterThan(2 ** 20);
    expect(stats.disk_bytes).toBeGreaterThan(0);
    client.send('auth', (await consoleAccess(api, server.id)).token);
    await client.event('auth success', 2);
    expect(client.all('status')).toHaveLength(1);
    client.close();
    const events = await activity(api, server.id);
    expect(events).toContainEqual(expect.objectContaining({ event: 'server:console.connect' }));
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'server:console.command', properties: { command: 'good day' } }),
    );
  });

  test('everybody sees the same, from one attachment', async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => WingsClient.enter(api, server.id)));
    clients[0]!.send('send command', 'flood 1500');
    await Promise.all(clients.map((client) => client.line('flood 1499')));
    for (const client of clients) {
      expect(client.lines.filter((line) => line.startsWith('flood'))).toEqual(
        Array.from({ length: 1500 }, (_, n) => `flood ${n}`),
      );
      client.close();
    }
  });

  test('a read-only key watches and no more', async () => {
    const watcher = await WingsClient.enter(tenant.readOnly, server.id);
    watcher.send('send command', 'not heard');
    await watcher.event('daemon error');
    watcher.send('set state', 'kill');
    await watcher.event('daemon error', 2);
    const actor = await WingsClient.enter(api, server.id);
    actor.send('send command', 'heard by all');
    await watcher.line('heard heard by all');
    expect(watcher.lines).not.toContain('heard not heard');
    expect((await api.get(`/servers/${server.id}`)).body.status).toBe('RUNNING');
    for (const client of [watcher, actor]) client.close();
  });

  test('signals lead through the states, and the next run is shown from its first line', async () => {
    const client = await WingsClient.enter(api, server.id);
    client.send('set state', 'stop');
    await until('the end', () => client.all('status').includes('offline'));
    expect(client.all('status').slice(0, 2)).toEqual(['running', 'stopping']);
    await until('figures of one that stands still', () => /"state":"offline"/.test(client.all('stats').at(-1) ?? ''));
    await reach(api, server.id, 'STOPPED');
    client.send('send command', 'anybody');
    await client.event('daemon error');
    const late = await WingsClient.enter(api, server.id);
    expect(late.all('status')).toEqual(['offline']);
    expect(JSON.parse(await late.event('stats'))).toMatchObject({ state: 'offline', memory_bytes: 0, uptime: 0 });
    const before = client.lines.length;
    client.send('set state', 'start');
    await until('the next run', () => client.all('status').at(-1) === 'running');
    await until('its first line', () => client.lines.slice(before).includes('listening'));
    client.send('send command', 'again');
    await client.line('heard again');
    expect(client.lines.slice(before)).toEqual(['listening', 'heard again']);
    expect((await activity(api, server.id)).at(-1)).toMatchObject({ event: expect.stringMatching(/^server:/) });
    for (const one of [client, late]) one.close();
    await reach(api, server.id, 'RUNNING');
  });

  test('a schedule’s command arrives, with nobody watching', async () => {
    const client = await WingsClient.enter(api, server.id);
    await new ConsoleCommandsProbe(api, server.id).run('from a schedule');
    await client.line('heard from a schedule');
    client.close();
  });

  test('10,000 frames at once throttle the client and hurt nobody', async () => {
    const bad = await WingsClient.enter(api, server.id);
    const good = await WingsClient.enter(api, server.id);
    for (let n = 0; n < 10_000; n++) bad.send('send command', `noise ${n}`);
    expect(await bad.event('throttled')).toMatch(/^(global|send command)$/);
    good.send('send command', 'still here');
    await good.line('heard still here');
    expect(bad.all('throttled').length).toBeLessThan(100);
    expect(good.lines.filter((line) => line.startsWith('heard noise')).length).toBeLessThan(20);
    for (const client of [bad, good]) client.close();
  });

  test('malformed and oversized frames', async () => {
    const client = await WingsClient.enter(api, server.id);
    for (const text of [
      '',
      '{',
      '[]',
      'null',
      '{"event":1}',
      '{"event":"auth","args":[1]}',
      '{"event":"__proto__","args":[]}',
    ])
      client.socket.send(text);
    client.socket.send(Buffer.from([1, 2, 3]));
    client.send('set state', 'explode');
    client.send('send command', 'fine');
    await client.line('heard fine');
    client.send('send command', 'x'.repeat(5000));
    expect((await client.end()).code).toBe(1009);
  });

  test('the 31st client is refused, and one that closed makes room', async () => {
    const { token, socket } = await consoleAccess(api, server.id);
    const enter = async (): Promise<WingsClient> => {
      const client = await WingsClient.connect(socket);
      client.send('auth', token);
      await until('an answer', () => client.frames.length > 0 || client.closed !== null);
      return client;
    };
    await until('all others are gone', async () => {
      const clients = await Promise.all(Array.from({ length: 30 }, enter));
      const areIn = clients.every(({ frames }) => frames[0]?.event === 'auth success');
      const code = areIn && (await (await enter()).end()).code;
      for (const client of clients) client.close();
      return code === 4429;
    });
    await until('room', async () => (await enter()).frames[0]?.event === 'auth success');
  });

  test('pages of other origins are refused; the panel’s, and programs, are not', async () => {
    const { socket } = await consoleAccess(api, server.id);
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1']) {
      await expect(WingsClient.connect(socket, origin)).rejects.toThrow('403');
    }
    const panel = await WingsClient.connect(socket, new URL(hosting.berth.baseUrl).origin);
    panel.close();
    await expect(WingsClient.connect(socket.replace(/servers.*/, 'servers/x/ws'))).rejects.toThrow('404');
  });

  describe('tokens', () => {
    const secret = () => readFileSync(hosting.berth.env['SESSION_SECRET_FILE']!, 'utf8').split('\n')[0]!.trim();
    let grant: ConsoleGrant;
    let node: string;

    beforeAll(async () => {
      const [row] = await hosting.rows<{ node_id: string }>('SELECT node_id FROM servers WHERE id = ?', [server.id]);
      node = row!.node_id;
      const [key] = await hosting.rows<{ id: string }>('SELECT id FROM api_keys WHERE hashed_key = SHA2(?, 256)', [
        tenant.key,
      ]);
      grant = {
        serverId: server.id,
        serverUuid: server.uuid,
        accountId: tenant.id,
        via: 'key',
        keyId: key!.id,
        sessionGeneration: null,
        permissions: ACTING,
      };
    });

    const answer = async (token: string) => {
      const client = await WingsClient.connect((await consoleAccess(api, server.id)).socket);
      client.send('auth', token);
      await until('an answer', () => client.frames.length > 0 || client.closed !== null);
      client.close();
      return client.frames[0]?.event ?? `closed ${client.closed?.code}`;
    };

    test('a good one opens', async () => {
      expect(await answer(await signConsoleToken(consoleKey(secret(), node), grant))).toBe('auth success');
    });

    test.each<[string, () => Promise<string>]>([
      ['of another node', () => signConsoleToken(consoleKey(secret(), 'nod_other'), grant)],
      [
        'of another server',
        () =>
          signConsoleToken(consoleKey(secret(), node), {
            ...grant,
            serverUuid: '00000000-0000-4000-8000-000000000000',
          }),
      ],
      ['that has expired', () => signConsoleToken(consoleKey(secret(), node), grant, Date.now() - 1000)],
      ['without leave to connect', () => signConsoleToken(consoleKey(secret(), node), { ...grant, permissions: [] })],
      ['that is none', async () => 'x.y.z'],
      ['that is empty', async () => ''],
      ['that is an API key', async () => tenant.key],
      [
        'of no algorithm',
        async () =>
          `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify({ ...grant, scope: 'websocket', iat: 1, exp: 9e9 })).toString('base64url')}.`,
      ],
    ])('one %s does not', async (_, make) => {
      expect(await answer(await make())).toBe('jwt error');
    });

    test('one of an account that does not own the service is worth nothing', async () => {
      const other = await hosting.berth.makeAccount();
      expect(
        await answer(
          await signConsoleToken(consoleKey(secret(), node), { ...grant, accountId: other.id, keyId: null }),
        ),
      ).toBe('deleted');
      (await other.api.get(`/servers/${server.id}/console`)).expect(404);
    });

    test('tell that they expire, and after that nothing else; a fresh one goes on', async () => {
      const client = await WingsClient.connect((await consoleAccess(api, server.id)).socket);
      client.send(
        'auth',
        await signConsoleToken(consoleKey(secret(), node), { ...grant, permissions: WATCHING }, Date.now() + 4000),
      );
      await client.event('token expiring');
      await client.event('token expired');
      const shown = client.lines.length;
      const actor = await WingsClient.enter(api, server.id);
      actor.send('send command', 'unseen');
      await actor.line('heard unseen');
      await client.event('jwt error');
      expect(client.lines.length).toBe(shown);
      client.send('auth', (await consoleAccess(api, server.id)).token);
      await client.event('auth success', 2);
      actor.send('send command', 'seen again');
      await client.line('heard seen again');
      for (const one of [client, actor]) one.close();
    });
  });

  describe('access that ends closes what is open, within 5 s', () => {
    const ending = async (work: (client: WingsClient) => Promise<unknown>, enter: () => Promise<WingsClient>) => {
      const client = await enter();
      await work(client);
      const since = Date.now();
      const end = await client.end();
      expect(Date.now() - since).toBeLessThan(5000);
      return [end.code, client.frames.at(-1)!.event];
    };

    test('a revoked key', async () => {
      const key = await hosting.berth.makeKey(tenant, ['read', 'write']);
      const other = hosting.berth.withKey(key);
      const revoke = () =>
        hosting.rows('UPDATE api_keys SET revoked_at = UTC_TIMESTAMP(3) WHERE hashed_key = SHA2(?, 256)', [key]);
      const token = (await consoleAccess(other, server.id)).token;
      expect(await ending(revoke, () => WingsClient.enter(other, server.id))).toEqual([4401, 'jwt error']);
      const again = await WingsClient.connect((await consoleAccess(api, server.id)).socket);
      again.send('auth', token);
      expect((await again.end()).code).toBe(4401);
    });

    test('an ended family of browser sessions', async () => {
      const panel = await hosting.berth.signIn(tenant);
      const end = () =>
        hosting.rows('UPDATE accounts SET session_generation = session_generation + 1 WHERE id = ?', [tenant.id]);
      expect(await ending(end, () => WingsClient.enter(panel, server.id))).toEqual([4401, 'jwt error']);
    });

    test('a suspended account, a deleted service', async () => {
      const person = await hosting.berth.makeAccount();
      const own = await runningServer(person.api);
      const suspend = (status: string) =>
        hosting.rows('UPDATE accounts SET status = ? WHERE id = ?', [status, person.id]);
      const [code] = await ending(
        () => suspend('suspended'),
        () => WingsClient.enter(person.api, own.id),
      );
      expect(code).toBe(4409);
      await suspend('active');
      const remove = () => person.api.delete(`/servers/${own.id}`);
      expect((await ending(remove, () => WingsClient.enter(person.api, own.id)))[1]).toBe('deleted');
    });
  });
});
