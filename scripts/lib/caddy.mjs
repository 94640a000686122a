import { copyFileSync, chmodSync, lchownSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { plainEnvironment } from './environment.mjs';
import { IS_ROOT, findProgram, makeFolder, writePrivate } from './layout.mjs';
import { userIds } from './mariadb.mjs';

/**
 * @typedef {object} Caddy
 * @property {import('./supervision.mjs').Service} service
 * @property {string} socket where it takes its settings
 * @property {string} home
 * @property {Record<string, string>} settings by which the platform finds it
 */

const BIND = ['--inh-caps=+net_bind_service', '--ambient-caps=+net_bind_service'];

/**
 * What speaks TLS for the sites. It starts with nothing but a socket for its settings; the platform brings them in.
 * @param {import('./layout.mjs').Layout} layout
 * @param {{ httpsPort: number }} options
 * @returns {Caddy}
 */
export function caddy(layout, { httpsPort }) {
  const program = findProgram('caddy') ?? 'caddy';
  const home = join(layout.data, 'caddy');
  const socket = join(layout.run, 'caddy', 'admin.sock');
  const args = ['run', '--config', join(home, 'start.json')];
  // It faces everybody, so it is nobody; ports below 1024 need a right that goes with it.
  const dropped = ['--reuid=caddy', '--regid=caddy', '--init-groups', ...(httpsPort < 1024 ? BIND : []), '--', program];
  return {
    service: {
      name: 'caddy',
      command: IS_ROOT ? (findProgram('setpriv') ?? 'setpriv') : program,
      args: IS_ROOT ? [...dropped, ...args] : args,
      env: { ...plainEnvironment(layout), HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
      cwd: '/',
      log: join(layout.log, 'caddy.log'),
      stop: { signal: 'SIGTERM', timeoutMs: 15_000 },
    },
    socket,
    home,
    settings: { CADDY_ADMIN_URL: `unix:${socket}`, CADDY_STORAGE_DIR: join(home, 'storage') },
  };
}

/**
 * Root makes and changes nothing in the home by a name that might be a link by now: what Caddy keeps there it makes itself.
 * @param {import('./layout.mjs').Layout} layout
 * @param {Caddy} server
 * @param {string | undefined} caFile certificates by which it knows the certificate authority
 */
export async function prepareCaddy(layout, { home, socket }, caFile) {
  const start = join(home, 'start.json');
  const folders = [home, join(layout.run, 'caddy')];
  for (const folder of folders) makeFolder(folder, 0o700);
  writePrivate(start, `${JSON.stringify({ admin: { listen: `unix/${socket}`, config: { persist: false } } })}\n`);
  if (caFile !== undefined) {
    // Where the operator has it, the daemon's user may not get to.
    copyFileSync(caFile, authorityFile(layout));
    chmodSync(authorityFile(layout), 0o644);
  }
  if (!IS_ROOT) return;
  const { uid, gid } = await userIds('caddy');
  for (const path of [...folders, start]) lchownSync(path, uid, gid);
}

/**
 * Not in the folder of the daemon's user, who might have put a link in its place.
 * @param {import('./layout.mjs').Layout} layout
 */
export function authorityFile(layout) {
  return join(layout.data, 'acme-ca.pem');
}

/**
 * @param {Caddy} server
 * @returns {Promise<boolean>}
 */
export function caddyAnswers({ socket }) {
  return new Promise((resolve) => {
    // By a socket it takes nothing but an empty host, so that no web page gets there.
    const options = { socketPath: socket, path: '/config/', setHost: false, headers: { host: '' }, timeout: 3000 };
    const asked = request(options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('error', () => resolve(false)).on('timeout', () => asked.destroy());
    asked.end();
  });
}
