import { existsSync, lchownSync, rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { IS_ROOT, findProgram, makeFolder } from './layout.mjs';
import { run } from './process.mjs';
import { plainEnvironment } from './environment.mjs';
import { Failure } from './terminal.mjs';

/**
 * One private MariaDB server.
 * @typedef {object} MariaDb
 * @property {import('./supervision.mjs').Service} service
 * @property {string} socket
 * @property {number} port
 * @property {string} user the account that the platform uses
 */

/**
 * Tenants log in to this one: nothing that reaches beyond their own schema. The platform refuses a host that lacks one of
 * these (src/drivers/database-host/mariadb/hardening.ts).
 */
const HARDENED = [
  '--skip-symbolic-links',
  '--local-infile=0',
  '--enforce-storage-engine=InnoDB',
  '--event-scheduler=DISABLED',
  '--max-user-connections=50',
  '--max-allowed-packet=16M',
  '--tmp-disk-table-size=256M',
  // Views upon views can make a server take all the memory there is for one statement; nobody may raise his own limit.
  '--max-session-mem-used=256M',
  '--maximum-max-session-mem-used=256M',
  // Room for the sessions that the accounts of TENANT_DATABASES databases may have.
  '--max-connections=2400',
  '--innodb-buffer-pool-size=128M',
  // Explicit temporary tables of all tenants together, and undo that is given back once nobody needs it any more.
  '--innodb-temp-data-file-path=ibtmp1:12M:autoextend:max:2G',
  '--innodb-undo-tablespaces=3',
  '--innodb-undo-log-truncate=ON',
];
/** How many databases are put on the server for tenants. */
export const TENANT_DATABASES = 100;
const PLATFORM = [
  '--local-infile=0',
  '--event-scheduler=DISABLED',
  '--max-connections=300',
  '--innodb-buffer-pool-size=128M',
];
/** Tests make and drop a schema for each file; nothing of it has to outlive a power cut, but a killed server. */
const VOLATILE = [
  '--innodb-flush-log-at-trx-commit=2',
  '--innodb-doublewrite=0',
  '--innodb-flush-method=nosync',
  '--sync-frm=0',
];

/**
 * @param {import('./layout.mjs').Layout} layout
 * @param {object} options
 * @param {string} options.name
 * @param {number} options.port
 * @param {string} options.user
 * @param {'platform' | 'tenant' | 'test'} options.profile
 * @param {string} [options.gateway] an address of this machine that it answers on beside loopback
 * @returns {MariaDb}
 */
export function mariaDb(layout, { name, port, user, profile, gateway }) {
  const home = join(layout.data, name);
  const runFolder = join(layout.run, name);
  const socket = join(runFolder, 'sock');
  const account = IS_ROOT ? ['--user=mysql'] : [];
  const flags = { platform: PLATFORM, tenant: HARDENED, test: [...PLATFORM, ...VOLATILE] }[profile];
  const args = [
    '--no-defaults',
    ...account,
    `--datadir=${join(home, 'data')}`,
    `--tmpdir=${join(home, 'tmp')}`,
    `--secure-file-priv=${join(home, 'empty')}`,
    `--socket=${socket}`,
    `--pid-file=${join(runFolder, 'pid')}`,
    `--bind-address=127.0.0.1${gateway ? `,${gateway}` : ''}`,
    `--port=${port}`,
    '--skip-name-resolve',
    '--character-set-server=utf8mb4',
    '--collation-server=utf8mb4_unicode_ci',
    ...flags,
  ];
  return {
    service: {
      name,
      command: findProgram('mariadbd') ?? 'mariadbd',
      args,
      env: plainEnvironment(layout),
      cwd: '/',
      log: join(layout.log, `${name}.log`),
      stop: { signal: 'SIGTERM', timeoutMs: 60_000 },
    },
    socket,
    port,
    user,
  };
}

/**
 * Makes the folders and, the first time, the system tables.
 * @param {import('./layout.mjs').Layout} layout
 * @param {MariaDb} server
 */
export async function prepareMariaDb(layout, { service, socket }) {
  const home = join(layout.data, service.name);
  makeFolder(home, 0o711);
  const owner = IS_ROOT ? await userIds('mysql') : undefined;
  for (const folder of [join(layout.run, service.name), ...['data', 'tmp', 'empty'].map((part) => join(home, part))]) {
    makeFolder(folder, folder.endsWith('data') ? 0o700 : 0o755);
    if (owner) lchownSync(folder, owner.uid, owner.gid);
  }
  const complete = join(home, 'data', 'installed');
  if (existsSync(complete)) return;
  // Tables that a broken first attempt left would stop the second.
  rmSync(join(home, 'data'), { recursive: true });
  makeFolder(join(home, 'data'), 0o700);
  if (owner) lchownSync(join(home, 'data'), owner.uid, owner.gid);
  rmSync(socket, { force: true });
  await run(
    findProgram('mariadb-install-db') ?? 'mariadb-install-db',
    [
      '--no-defaults',
      ...(IS_ROOT ? ['--user=mysql'] : []),
      `--datadir=${join(home, 'data')}`,
      '--auth-root-authentication-method=socket',
      `--auth-root-socket-user=${IS_ROOT ? 'root' : userInfo().username}`,
      '--skip-test-db',
      '--skip-name-resolve',
    ],
    { env: plainEnvironment(layout), cwd: '/', title: 'mariadb-install-db' },
  );
  await run('touch', [complete]);
}

/** @param {string} name */
export async function userIds(name) {
  const { stdout } = await run('getent', ['passwd', name], {
    title: `user ${name}`,
    advice: `add the system user ${name}`,
  });
  const [, , uid, gid] = stdout.split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

/**
 * Runs SQL as root through the socket. It goes in by standard input, so that no password shows in a process list.
 * @param {MariaDb} server
 * @param {string} sql
 */
export async function asRoot(server, sql) {
  const user = IS_ROOT ? 'root' : userInfo().username;
  return run(
    'mariadb',
    ['--no-defaults', `--socket=${server.socket}`, `--user=${user}`, '--batch', '--skip-column-names'],
    {
      input: sql,
      title: `SQL on ${server.service.name}`,
    },
  );
}

/** @param {MariaDb} server */
export async function mariaDbAnswers(server) {
  if (!existsSync(server.socket)) return false;
  return (await asRoot(server, 'SELECT 1;')).stdout.trim() === '1';
}

/**
 * The platform's account, with its password as it stands in the secrets, and no other way in but root's socket.
 * @param {MariaDb} server
 * @param {{ password: string, database?: string, everything?: boolean }} options
 */
export async function grantAccess(server, { password, database, everything }) {
  if (!/^[0-9a-f]+$/.test(password))
    throw new Failure('the database password file holds something else than a generated password');
  const account = `'${server.user}'@'127.0.0.1'`;
  const statements = [
    "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost');",
    'FLUSH PRIVILEGES;',
    `CREATE USER IF NOT EXISTS ${account} IDENTIFIED BY '${password}';`,
    `ALTER USER ${account} IDENTIFIED BY '${password}';`,
  ];
  if (database) {
    statements.push(
      `CREATE DATABASE IF NOT EXISTS \`${database}\`;`,
      `GRANT ALL PRIVILEGES ON \`${database}\`.* TO ${account};`,
    );
  }
  if (everything) statements.push(`GRANT ALL PRIVILEGES ON *.* TO ${account} WITH GRANT OPTION;`);
  await asRoot(server, statements.join('\n'));
}
