import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { describeProcess } from './process.mjs';

/**
 * Whether a program may listen there now.
 * @param {number} port
 * @param {string} [host]
 * @returns {Promise<boolean>}
 */
export function isFree(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * The first port from the wanted one on that is free, else any free one.
 * @param {number} wanted
 * @param {number[]} [reserved] ports that something else is about to use
 * @returns {Promise<number>}
 */
export async function freePort(wanted, reserved = []) {
  for (let port = wanted; port < wanted + 20; port++) {
    if (!reserved.includes(port) && (await isFree(port))) return port;
  }
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : wanted));
    });
  });
}

/**
 * Who listens on a TCP port, in words, such as `pid 4711 (nginx: master process)`.
 * @param {number} port
 */
export function portHolder(port) {
  const inodes = new Set();
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readText(table).split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      const LISTEN = '0A';
      if (fields[3] === LISTEN && fields[1]?.endsWith(`:${wanted}`)) inodes.add(`socket:[${fields[9]}]`);
    }
  }
  if (inodes.size === 0) return 'a program that cannot be seen from here';
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        if (inodes.has(readlinkSync(`/proc/${pid}/fd/${fd}`))) return `pid ${pid} (${describeProcess(Number(pid))})`;
      }
    } catch {
      // It ended meanwhile, or belongs to somebody else.
    }
  }
  return "another user's program";
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
