import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { HASH_MARK, SERVICE_MARK, STACK_MARK } from './environment.mjs';
import { makeFolder, writeJson } from './layout.mjs';
import { lxd } from './lxd.mjs';
import { identify } from './process.mjs';
import { SERVICE_ORDER, SUPERVISOR, pidFile, runningRecord, runningRecords } from './supervision.mjs';

/** @typedef {import('./supervision.mjs').StopRule} StopRule */

const NAMES = [...SERVICE_ORDER, SUPERVISOR];

/**
 * Writes anew the pid files of daemons of ours that run without one: /run was wiped, or a file was lost. They carry
 * their stack, name and hash in their environment. (Redis overwrites its environment, and is told by the folder it
 * works in.) Hosted programs can claim all of that, but they run in namespaces of their own.
 * @param {import('./layout.mjs').Layout} layout
 */
export function recoverRecords(layout) {
  const known = new Set(runningRecords(layout.run).map((record) => record.identity.pid));
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!/^\d+$/.test(name) || known.has(pid) || pid === process.pid) continue;
    if (!isBesideUs(pid)) continue;
    const found = lostDaemon(layout, pid);
    if (!found || !NAMES.includes(found.name) || runningRecord(layout.run, found.name)) continue;
    const identity = identify(pid);
    if (!identity) continue;
    makeFolder(layout.run, 0o711);
    writeJson(pidFile(layout.run, found.name), { ...found, identity });
  }
}

/**
 * Whether a process is in no container.
 * @param {number} pid
 */
function isBesideUs(pid) {
  return ['pid', 'user'].every((kind) => {
    const ours = linkOf(`/proc/self/ns/${kind}`);
    return ours !== undefined && linkOf(`/proc/${pid}/ns/${kind}`) === ours;
  });
}

/**
 * @param {import('./layout.mjs').Layout} layout
 * @param {number} pid
 * @returns {{ name: string, hash: string, stop: StopRule } | undefined}
 */
function lostDaemon(layout, pid) {
  const args = textOf(`/proc/${pid}/cmdline`).split('\0');
  const stop = { signal: /** @type {const} */ ('SIGTERM'), timeoutMs: 60_000 };
  if (args[0]?.startsWith('/usr/bin/redis-server ') && linkOf(`/proc/${pid}/cwd`) === join(layout.data, 'redis')) {
    return { name: 'redis', hash: '', stop };
  }
  const env = parseEnvironment(textOf(`/proc/${pid}/environ`));
  const { [STACK_MARK]: stack, [SERVICE_MARK]: service, [HASH_MARK]: hash = '' } = env;
  if (stack !== layout.state || !service) return undefined;
  // What a daemon starts inherits the marks: LXD has dnsmasq and the monitors of its instances below it.
  if (service === 'lxd' && args[1] !== '--group') return undefined;
  // A socket that was wiped does not come back: that daemon has to be replaced.
  const sockets = args.flatMap((arg) => /^--socket=(.+)$/.exec(arg)?.[1] ?? []);
  const reachable = sockets.every((socket) => existsSync(socket));
  return { name: service, hash: reachable ? hash : '', stop: service === 'lxd' ? lxd(layout).service.stop : stop };
}

/** @param {string} text */
function parseEnvironment(text) {
  /** @type {Record<string, string>} */
  const env = {};
  for (const entry of text.split('\0')) {
    const at = entry.indexOf('=');
    if (at > 0) env[entry.slice(0, at)] = entry.slice(at + 1);
  }
  return env;
}

/** @param {string} file */
function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** @param {string} file */
function linkOf(file) {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}
