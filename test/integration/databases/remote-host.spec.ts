import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { startBerth, type Berth } from '../../support/app.js';
import { Daemon } from '../../support/daemon.js';
import { TestDatabaseHosts } from '../../support/database-host.js';
import { freePort } from '../../support/free-ports.js';
import { until } from '../../support/until.js';
import { makeDatabase, run } from './support.js';

const openssl = (...args: string[]) => promisify(execFile)('openssl', args);

interface MariaDb {
  service: { command: string; args: string[]; env: Record<string, string> };
  port: number;
}

/** What sets a server up for `npm run up` and for tests. */
interface MariaDbTools {
  mariaDb(layout: object, options: object): MariaDb;
  prepareMariaDb(layout: object, server: MariaDb): Promise<void>;
  mariaDbAnswers(server: MariaDb): Promise<boolean>;
  grantAccess(server: MariaDb, access: { password: string; everything: boolean }): Promise<void>;
}

/** A hardened server that talks to nobody without TLS, with a certificate of an authority of its own. */
class RemoteServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'berth-remote-db-'));
  readonly password = randomBytes(16).toString('hex');
  port = 0;
  private daemon: Daemon | undefined;

  async start(): Promise<void> {
    chmodSync(this.folder, 0o711);
    await this.certify();
    const script: string = '../../../scripts/lib/mariadb.mjs';
    const tools = (await import(script)) as MariaDbTools;
    const layout = { kind: 'test', state: this.folder, log: this.folder, secrets: this.folder, images: '' };
    const folders = { data: join(this.folder, 'data'), run: join(this.folder, 'run') };
    for (const folder of Object.values(folders)) mkdirSync(folder, { mode: 0o711 });
    const all = { ...layout, ...folders };
    const server = tools.mariaDb(all, {
      name: 'db',
      port: await freePort(),
      user: 'berth',
      profile: 'tenant',
    });
    await tools.prepareMariaDb(all, server);
    const { command, args, env } = server.service;
    const tls = ['cert', 'key', 'ca'].map((part) => `--ssl-${part}=${this.file(part)}`);
    this.daemon = await Daemon.start(command, [...args, ...tls, '--require-secure-transport=ON'], env);
    await until('MariaDB answers', () => tools.mariaDbAnswers(server).catch(() => false));
    await tools.grantAccess(server, { password: this.password, everything: true });
    this.port = server.port;
  }

  async stop(): Promise<void> {
    await this.daemon?.stop();
    rmSync(this.folder, { recursive: true });
  }

  get authority(): string {
    return readFileSync(this.file('ca'), 'utf8');
  }

  private file(part: string): string {
    return join(this.folder, `${part}.pem`);
  }

  private async certify(): Promise<void> {
    const [ca, caKey, cert, key] = ['ca', 'ca-key', 'cert', 'key'].map((part) => this.file(part)) as [
      string,
      string,
      string,
      string,
    ];
    const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
    await openssl('req', ...made, '-subj', '/CN=authority', '-keyout', caKey, '-out', ca);
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const issuer = ['-CA', ca, '-CAkey', caKey, '-addext', 'basicConstraints=critical,CA:false'];
    await openssl('req', ...made, ...issuer, ...subject, '-keyout', key, '-out', cert);
    for (const file of [cert, key, ca]) chmodSync(file, 0o644);
  }
}

const server = new RemoteServer();
let berth: Berth;
let hosts: TestDatabaseHosts;

beforeAll(async () => {
  [berth] = await Promise.all([startBerth(), server.start()]);
  hosts = new TestDatabaseHosts(berth.database.database, berth.env);
});
afterAll(async () => {
  await berth?.close();
  await server.stop();
});

const wanted = () => ({ name: 'remote', port: server.port, servicePort: server.port, password: server.password });

test('a host that shows a certificate of another authority is refused', async () => {
  const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=authority'];
  const { stdout } = await openssl('req', ...made, '-keyout', '/dev/null');
  await expect(hosts.add({ ...wanted(), caCertificate: stdout })).rejects.toThrow(/certificate/);
});

test('a database on a host that is reached by TLS alone is made, asked, filled and written out', async () => {
  await hosts.add({ ...wanted(), caCertificate: server.authority });
  await berth.database.query("DELETE FROM database_hosts WHERE name = 'test'");
  const { api } = await berth.makeAccount();
  const made = await makeDatabase(api);
  expect(made.connection.port).toBe(server.port);
  const { rows } = await run(api, made.id, "SHOW STATUS LIKE 'Ssl_version'");
  expect(rows[0][1]).toMatch(/^TLS/);
  const sql = 'CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2);';
  (await api.post(`/databases/${made.id}/import`, { sql })).expect(200);
  expect((await api.post(`/databases/${made.id}/export`)).expect(200).text).toContain('INSERT INTO `t` VALUES');

  const { username: user, password, database } = made.connection;
  const program = { host: '127.0.0.1', port: server.port, user, password, database };
  await expect(createConnection(program)).rejects.toThrow(/denied|transport/);
  const connection = await createConnection({ ...program, ssl: { ca: server.authority } });
  expect(await connection.query('SELECT COUNT(*) AS n FROM t')).toMatchObject([[{ n: 2 }], {}]);
  await connection.end();
});
