import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { TestAccount } from '../support/app.js';
import { tenantLink } from '../support/database-host.js';
import { BrokerClient } from './support/broker-client.js';
import { ended, Hosting, onEngine, reach, SMALL, type Server } from './support/hosting.js';
import { ASKS_ITS_DATABASE } from './support/mysql-program.js';

interface Connection {
  host: string;
  port: number;
  database: string;
  username: string;
  password: string;
  uri: string;
}

onEngine('databases of services', () => {
  let hosting: Hosting;
  let accounts: TestAccount[];
  let servers: Server[];
  let connections: Connection[];
  let programs: BrokerClient[];

  beforeAll(async () => {
    hosting = await Hosting.start({ processes: [['api', 'worker', 'node'], ['broker']] });
    accounts = await Promise.all([hosting.berth.makeAccount(), hosting.berth.makeAccount()]);
    servers = await Promise.all(
      accounts.map(async ({ api }) => {
        const { id } = (await api.post('/servers', { ...SMALL, withDatabase: true })).expect(201).body as Server;
        return reach(api, id, 'RUNNING');
      }),
    );
    connections = await Promise.all(
      accounts.map(
        async ({ api }, index) =>
          (await api.get(`/servers/${servers[index]!.id}/db-connection`)).expect(200).body as Connection,
      ),
    );
    // How a program learns of it: its account puts the connection into the vault.
    for (const [index, { api }] of accounts.entries()) {
      const secret = { key: 'DATABASE_URL', value: connections[index]!.uri };
      (await api.put(`/servers/${servers[index]!.id}/vault`, secret)).expect(201);
    }
    programs = servers.map(({ id }) => new BrokerClient(hosting, id));
  });

  afterAll(() => hosting?.close());

  /** What the program of a service is told; `url` is what it uses instead of its own secret. */
  const asks = (index: number, sql: string, url?: string) =>
    programs[index]!.python(ASKS_ITS_DATABASE, hosting.gateway, sql, ...(url === undefined ? [] : [url]));

  test('a program reaches its database with the credentials of db-connection', async () => {
    expect(await asks(0, 'CREATE TABLE visits (n int) SELECT 42 AS n')).toBe('done');
    expect(await asks(0, 'SELECT n, DATABASE(), SUBSTRING_INDEX(USER(), "@", 1) FROM visits')).toBe(
      `row 42 ${connections[0]!.database} ${connections[0]!.username}`,
    );
    const [entry] = (await accounts[0]!.api.get('/databases')).expect(200).body as { id: string }[];
    const { body } = (
      await accounts[0]!.api.post(`/databases/${entry!.id}/query`, { sql: 'SELECT n FROM visits' })
    ).expect(200);
    expect(body.rows).toEqual([[42]]);
  });

  test('the service of another account does not, with its own credentials nor with guessed ones', async () => {
    const [one, two] = connections as [Connection, Connection];
    expect(await asks(1, `SELECT * FROM ${one.database}.visits`)).toBe('refused 1142');
    expect(await asks(1, 'SELECT 1', two.uri.replace(/\/[^/]*$/, `/${one.database}`))).toBe('refused 1044');
    expect(await asks(1, 'SELECT 1', one.uri.replace(one.password, two.password))).toMatch(/^refused (1045|1698)$/);
    expect(await asks(1, 'SELECT 1', `mysql://root:root@${one.host}:${one.port}/mysql`)).toMatch(
      /^refused (1045|1698)$/,
    );
    expect(await asks(1, 'SELECT 1')).toBe('row 1');
  });

  test('the environment and the files of the container hold no password', async () => {
    const found = await programs[0]!.pythonAsRoot(
      `import os, sys
secret = sys.argv[1].encode()
places = [open('/proc/1/environ', 'rb').read()]
for folder, _, files in os.walk('/home/container'):
    places += [open(os.path.join(folder, name), 'rb').read() for name in files]
print(any(secret in place for place in places))`,
      connections[0]!.password,
    );
    expect(found).toBe('False');
  });

  test('the server for databases answers on loopback and to hosted programs, and nowhere else', async () => {
    const port = connections[0]!.port;
    const others = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(
        ({ family, address }) => family === 'IPv4' && address !== connections[0]!.host && address !== '127.0.0.1',
      );
    for (const { address } of others) expect([address, await accepts(address, port)]).toEqual([address, false]);
    expect(await accepts('127.0.0.1', port)).toBe(true);
  });

  test('a reinstallation leaves it, a deletion takes it away', async () => {
    const [{ api }] = accounts as [TestAccount];
    const { body } = (await api.post(`/servers/${servers[0]!.id}/reinstall`)).expect(202);
    await ended(api, (body as { operationId: string }).operationId);
    await reach(api, servers[0]!.id, 'RUNNING');
    expect(await asks(0, 'SELECT n FROM visits')).toBe('row 42');
    (await api.delete(`/servers/${servers[0]!.id}`)).expect(204);
    await hosting.untilQuiet();
    expect((await tenantLink().sizes()).has(connections[0]!.database)).toBe(false);
    expect(await asks(1, 'SELECT 1', connections[0]!.uri)).toMatch(/^refused (1045|1698)$/);
    expect(await hosting.rows('SELECT id FROM service_databases')).toHaveLength(1);
  });

  test('no log of the platform holds a password of a database', () => {
    const logs = hosting.berth.processes.map((process) => process.log()).join('\n');
    for (const { password } of connections) expect(logs).not.toContain(password);
  });
});

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('connect', end(true)).on('error', end(false)).on('timeout', end(false));
  });
}
