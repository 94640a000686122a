import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Where an engine that has its folder in the usual place keeps its logs; one that was told its folder has them in there. */
const USUAL: Record<string, string> = { '/var/lib/lxd': '/var/log/lxd', '/var/lib/incus': '/var/log/incus' };
const LOG = /^(.+)\/([^/]+)\/proxy\.([^/]+)\.log(?: \(deleted\))?$/;

interface PortProxy {
  pid: number;
  startedBy: number;
  /** Where it logs to, which names what it is for. */
  log: string;
}

/**
 * Ends port proxies of a project that an engine started and, being killed, did not live to write down: they hold their ports,
 * and the engine that follows neither knows nor ends them. Answers how many. Only for an engine of this machine.
 */
export async function endStrayProxies(socketPath: string, project: string): Promise<number> {
  const folder = dirname(socketPath);
  const logs = USUAL[folder] ?? join(folder, 'logs');
  let ended = 0;
  for (const { pid, startedBy, log } of await portProxies()) {
    const [, where, instance = '', device = ''] = LOG.exec(log) ?? [];
    if (where !== logs || !instance.startsWith(`${project}_`)) continue;
    if (await isEngine(startedBy)) continue;
    const record = await readFile(join(folder, 'devices', instance, `proxy.${device}`), 'utf8').catch(() => '');
    if (new RegExp(`^pid: ${pid}$`, 'm').test(record)) continue;
    try {
      process.kill(pid, 'SIGKILL');
      ended++;
    } catch {
      // It ended by itself.
    }
  }
  return ended;
}

async function portProxies(): Promise<PortProxy[]> {
  const found: PortProxy[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const words = await commandLine(Number(name));
    // lxd forkproxy -- <pid of the engine> <fd> <listen address> <pid in the instance> …
    if (!isEngineProgram(words) || words[1] !== 'forkproxy') continue;
    const log = await readlink(`/proc/${name}/fd/1`).catch(() => '');
    found.push({ pid: Number(name), startedBy: Number(words[3]), log });
  }
  return found;
}

async function isEngine(pid: number): Promise<boolean> {
  const words = await commandLine(pid);
  return isEngineProgram(words) && words[1] !== 'forkproxy';
}

const isEngineProgram = (words: string[]) => ['lxd', 'incusd'].includes(basename(words[0] ?? ''));

async function commandLine(pid: number): Promise<string[]> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
}
