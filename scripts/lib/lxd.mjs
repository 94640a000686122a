import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { enlargeIdRanges } from './id-ranges.mjs';
import { IS_ROOT, findProgram, makeFolder } from './layout.mjs';
import { run } from './process.mjs';
import { plainEnvironment } from './environment.mjs';

/** Engines that the machine itself may run. */
const SYSTEM_SOCKETS = ['/var/lib/incus/unix.socket', '/var/lib/lxd/unix.socket'];

/**
 * One request to the engine's API.
 * @param {string} socketPath
 * @param {string} path
 * @param {{ method?: string, body?: string, timeoutMs?: number }} [options]
 * @returns {Promise<any>}
 */
export function askEngine(socketPath, path, { method = 'GET', body, timeoutMs = 5000 } = {}) {
  return new Promise((resolve, reject) => {
    const call = request(
      { socketPath, path, method, timeout: timeoutMs, headers: { host: 'lxd', 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => {
          try {
            const answer = JSON.parse(text);
            if (answer.type === 'error') reject(new Error(answer.error));
            else resolve(answer.metadata);
          } catch (error) {
            reject(error);
          }
        });
        response.on('error', reject);
      },
    );
    call.on('timeout', () => call.destroy(new Error('the engine does not answer')));
    call.on('error', reject);
    call.end(body);
  });
}

/** @param {string} socket */
export async function engineAnswers(socket) {
  if (!existsSync(socket)) return false;
  const server = await askEngine(socket, '/1.0');
  return server?.auth === 'trusted';
}

/** The socket of an engine that the machine runs already, if any answers. */
export async function systemEngine() {
  for (const socket of SYSTEM_SOCKETS) {
    if (await engineAnswers(socket).catch(() => false)) return socket;
  }
  return undefined;
}

/** Why no engine of our own can run here, in one line; undefined when nothing speaks against it. */
export function whyNoEngine() {
  if (!IS_ROOT) return 'only root may run containers';
  const inside = readText('/proc/self/uid_map').trim().split(/\s+/);
  if (inside[0] === '0' && inside[1] !== '0') return 'this is an unprivileged container, its root may not run others';
  const CAP_SYS_ADMIN = 21n;
  const capabilities = BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(readText('/proc/self/status'))?.[1] ?? '0'}`);
  if ((capabilities & (1n << CAP_SYS_ADMIN)) === 0n)
    return 'root lacks the capability SYS_ADMIN here (unprivileged container)';
  if (!existsSync('/sys/fs/cgroup')) return 'no cgroups are mounted here';
  return undefined;
}

/**
 * @typedef {object} Lxd
 * @property {import('./supervision.mjs').Service} service
 * @property {string} folder
 * @property {string} socket
 */

/**
 * An LXD daemon of our own. Ended by `lxd shutdown`: instances stop cleanly, and those that ran come back at the next
 * start. A daemon that dies leaves its instances running, and the next one finds them.
 * @param {import('./layout.mjs').Layout} layout
 * @returns {Lxd}
 */
export function lxd(layout) {
  const folder = join(layout.data, 'lxd');
  const program = findProgram('lxd') ?? 'lxd';
  return {
    service: {
      name: 'lxd',
      command: program,
      args: ['--group', 'root'],
      env: { ...plainEnvironment(layout), LXD_DIR: folder },
      cwd: '/',
      log: join(layout.log, 'lxd.log'),
      stop: {
        signal: 'SIGPWR',
        timeoutMs: 90_000,
        program: [program, 'shutdown', '--timeout', '60'],
        env: { LXD_DIR: folder },
      },
    },
    folder,
    socket: join(folder, 'unix.socket'),
  };
}

/** @param {Lxd} engine */
export function prepareLxd({ folder }) {
  if (!existsSync(folder)) enlargeIdRanges();
  makeFolder(folder, 0o711);
}

/**
 * Removes every trace an LXD daemon leaves on the machine once it has ended: instances that go on without it, its
 * bridges, firewall rules, mounts, loop devices and its folder.
 * @param {string} folder
 * @param {string[]} bridges names of the bridges it made
 */
export async function eraseLxd(folder, bridges) {
  await endLeftovers(folder);
  await unmountBelow(folder);
  for (const bridge of bridges) {
    if (existsSync(`/sys/class/net/${bridge}`)) await run('ip', ['link', 'delete', bridge], { mayFail: true });
    await removeFirewall(bridge);
  }
  await detachLoops(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/**
 * Ends processes that an LXD under this folder left: container monitors, forkproxy, dnsmasq. They name the folder in
 * their command line; a container's own processes end with its monitor's kill, found by their cgroup.
 * @param {string} folder
 */
export async function endLeftovers(folder) {
  if (!existsSync('/proc')) return;
  const monitors = processes().filter((pid) => belongsTo(pid, folder));
  const inside = monitors.flatMap((pid) => childrenOf(pid));
  for (const pid of [...inside, ...monitors]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended with another one.
    }
  }
  const gone = () =>
    [...inside, ...monitors].every((pid) => !existsSync(`/proc/${pid}`) || /\) Z /.test(readText(`/proc/${pid}/stat`)));
  for (let i = 0; i < 100 && !gone(); i++) await new Promise((resolve) => setTimeout(resolve, 50));
}

/**
 * Whether instances of a daemon that is gone go on without it.
 * @param {string} folder
 */
export function hasLeftovers(folder) {
  return processes().some(
    (pid) => belongsTo(pid, folder) && readText(`/proc/${pid}/cmdline`).startsWith('[lxc monitor]'),
  );
}

function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/**
 * @param {number} pid
 * @param {string} folder
 */
function belongsTo(pid, folder) {
  if (pid === process.pid) return false;
  const line = readText(`/proc/${pid}/cmdline`);
  const ours = ['[lxc monitor]', 'lxd\0fork', 'lxd fork', 'dnsmasq', '/lxd\0'].some((mark) => line.includes(mark));
  return ours && (line.includes(`${folder}/`) || environmentNames(pid, folder));
}

/**
 * @param {number} pid
 * @param {string} folder
 */
function environmentNames(pid, folder) {
  return readText(`/proc/${pid}/environ`).split('\0').includes(`LXD_DIR=${folder}`);
}

/** @param {number} pid */
function childrenOf(pid) {
  return readText(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
}

/**
 * @param {string} folder
 */
export async function unmountBelow(folder) {
  const targets = readText('/proc/self/mountinfo')
    .split('\n')
    .map((line) => (line.split(' ')[4] ?? '').replace(/\\040/g, ' '))
    .filter((target) => target === folder || target.startsWith(`${folder}/`));
  for (const target of targets.reverse()) await run('umount', ['--lazy', target], { mayFail: true });
}

/** @param {string} folder */
async function detachLoops(folder) {
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'], { mayFail: true });
  for (const line of stdout.split('\n')) {
    const [device, file] = line.trim().split(/\s+/);
    if (device && file?.startsWith(`${folder}/`)) await run('losetup', ['--detach', device], { mayFail: true });
  }
}

/**
 * LXD keeps one chain per bridge in tables it shares with other LXD daemons.
 * @param {string} bridge
 */
async function removeFirewall(bridge) {
  const { code, stdout } = await run('nft', ['--json', 'list', 'chains'], { mayFail: true });
  if (code !== 0) return;
  const chains = JSON.parse(stdout).nftables.flatMap((/** @type {any} */ entry) => entry.chain ?? []);
  for (const { family, table, name } of chains) {
    const ours = ['lxd', 'incus'].includes(table) && (name.endsWith(`.${bridge}`) || name.includes(`.${bridge}.`));
    if (ours) await run('nft', ['delete', 'chain', family, table, name], { mayFail: true });
  }
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
