import { lchownSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { IS_ROOT, findProgram, makeFolder, writePrivate } from './layout.mjs';
import { userIds } from './mariadb.mjs';
import { plainEnvironment } from './environment.mjs';

/**
 * @typedef {object} Redis
 * @property {import('./supervision.mjs').Service} service
 * @property {number} port
 * @property {string} password
 */

/**
 * @param {import('./layout.mjs').Layout} layout
 * @param {{ port: number, password: string }} options
 * @returns {Redis}
 */
export function redis(layout, { port, password }) {
  const server = findProgram('redis-server') ?? 'redis-server';
  const config = join(layout.data, 'redis', 'redis.conf');
  // Redis cannot change its user by itself; setpriv can, and then becomes Redis.
  const dropped = ['--reuid=redis', '--regid=redis', '--init-groups', '--', server, config];
  return {
    service: {
      name: 'redis',
      command: IS_ROOT ? (findProgram('setpriv') ?? 'setpriv') : server,
      args: IS_ROOT ? dropped : [config],
      env: plainEnvironment(layout),
      cwd: '/',
      log: join(layout.log, 'redis.log'),
      stop: { signal: 'SIGTERM', timeoutMs: 30_000 },
      revision: `${port}`,
    },
    port,
    password,
  };
}

/**
 * @param {import('./layout.mjs').Layout} layout
 * @param {Redis} server
 */
export async function prepareRedis(layout, { port, password }) {
  const home = join(layout.data, 'redis');
  const config = join(home, 'redis.conf');
  makeFolder(home, 0o700);
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    'protected-mode yes',
    `requirepass ${password}`,
    `dir ${home}`,
    'daemonize no',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    // Jobs and sessions must never be thrown out to make room.
    'maxmemory-policy noeviction',
  ];
  writePrivate(config, `${lines.join('\n')}\n`);
  if (!IS_ROOT) return;
  const { uid, gid } = await userIds('redis');
  for (const path of [home, config]) lchownSync(path, uid, gid);
}

/**
 * Sends commands and gives the answers' text.
 * @param {Redis} server
 * @param {string[]} commands
 * @returns {Promise<string>}
 */
export function askRedis({ port, password }, commands) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setTimeout(3000, () => socket.destroy(new Error('Redis does not answer')));
    socket.on('connect', () => socket.end([`AUTH ${password}`, ...commands, 'QUIT', ''].join('\r\n')));
    socket.on('data', (chunk) => (text += chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}

/** @param {Redis} server */
export async function redisAnswers(server) {
  return (await askRedis(server, ['PING'])).includes('+PONG');
}
