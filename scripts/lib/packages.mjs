import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { IS_ROOT, findProgram } from './layout.mjs';
import { run } from './process.mjs';
import { Failure } from './terminal.mjs';

/** Debian packages by the program that shows they are there. */
const DAEMONS = {
  mariadbd: 'mariadb-server',
  'redis-server': 'redis-server',
  caddy: 'caddy',
  git: 'git',
  setpriv: 'util-linux',
};
const ENGINE = {
  lxd: 'lxd',
  'mkfs.btrfs': 'btrfs-progs',
  dnsmasq: 'dnsmasq-base',
  nft: 'nftables',
  newuidmap: 'uidmap',
  ip: 'iproute2',
  losetup: 'mount',
};
const IMAGES = { mmdebstrap: 'mmdebstrap', tini: 'tini', mksquashfs: 'squashfs-tools', xz: 'xz-utils', zstd: 'zstd' };

/** What only tests of a running platform need, and what only benchmarks do. */
const CLIENTS = { sftp: 'openssh-client', dotenv: 'python3-dotenv', pebble: 'pebble', openssl: 'openssl' };
const BENCH = {
  wrk: 'wrk',
  sshd: 'openssh-server',
  nginx: 'nginx',
  curl: 'curl',
  unzip: 'unzip',
  chromium: 'chromium',
  ...CLIENTS,
};

/** Service units that these packages would start at the next boot. */
const UNITS = {
  'mariadb-server': ['mariadb.service'],
  'redis-server': ['redis-server.service'],
  'openssh-server': ['ssh.service', 'ssh.socket'],
  nginx: ['nginx.service'],
  caddy: ['caddy.service'],
  lxd: ['lxd.service', 'lxd.socket', 'lxd-containers.service', 'lxcfs.service'],
};

/**
 * @param {{ engine: boolean, images: boolean, clients?: boolean }} needs an engine of our own; the tools that build images; programs that tests talk with
 * @returns {string[]} names of Debian packages
 */
export function missingPackages(needs) {
  return missingOf({
    ...DAEMONS,
    ...(needs.engine ? ENGINE : {}),
    ...(needs.images ? IMAGES : {}),
    ...(needs.clients ? CLIENTS : {}),
  });
}

/** What only benchmarks need. */
export function missingBenchPackages() {
  return missingOf(BENCH);
}

/** @param {Record<string, string>} wanted */
function missingOf(wanted) {
  const missing = Object.entries(wanted).filter(([program]) => !findProgram(program));
  return [...new Set(missing.map(([, name]) => name))];
}

/**
 * Installs Debian packages without letting them start services of their own.
 * @param {string[]} names
 * @param {(text: string) => void} note
 */
export async function installPackages(names, note) {
  const advice = `install them by hand: apt-get install --no-install-recommends ${names.join(' ')}`;
  if (!IS_ROOT)
    throw new Failure(`these Debian packages are missing and only root may install them: ${names.join(', ')}`, {
      advice,
    });
  if (!findProgram('apt-get')) throw new Failure('no apt-get here: Berth sets itself up on Debian 12', { advice });
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', DEBIAN_PRIORITY: 'critical', LC_ALL: 'C.UTF-8' };
  const lists = ['-o', 'DPkg::Lock::Timeout=300', '-q'];
  note('apt-get update');
  // A mirror may hiccup, and another apt may hold the lists for a moment.
  await retried(() => run('apt-get', [...lists, 'update'], { env, onLine: note, title: 'apt-get update' }));
  await withoutServices(() =>
    retried(() =>
      run(
        'apt-get',
        [...lists, '-y', '-o', 'Dpkg::Options::=--force-confold', 'install', '--no-install-recommends', ...names],
        {
          env,
          onLine: note,
          title: 'apt-get install',
          advice,
        },
      ),
    ),
  );
  await disableUnits(names);
}

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function retried(work) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 3) throw error;
      await sleep(3000 * attempt);
    }
  }
}

const POLICY = '/usr/sbin/policy-rc.d';
const KEPT = `${POLICY}.before-berth`;
const MARK = '# Put here by Berth while it installs packages.';

/**
 * A policy that forbids starting services stands while packages are installed; what stood there before comes back.
 * @template T
 * @param {() => Promise<T>} work
 */
async function withoutServices(work) {
  const ours = existsSync(POLICY) && readFileSync(POLICY, 'utf8').includes(MARK);
  if (existsSync(POLICY) && !ours) renameSync(POLICY, KEPT);
  writeFileSync(POLICY, `#!/bin/sh\n${MARK}\nexit 101\n`, { mode: 0o755 });
  try {
    return await work();
  } finally {
    rmSync(POLICY, { force: true });
    if (existsSync(KEPT)) renameSync(KEPT, POLICY);
  }
}

/**
 * What was just installed shall not come up by itself at the next boot either: the stack runs its own.
 * @param {string[]} names
 */
async function disableUnits(names) {
  const units = Object.entries(UNITS).flatMap(([name, list]) => (names.includes(name) ? list : []));
  if (units.length === 0 || !existsSync('/run/systemd/system')) return;
  await run('systemctl', ['disable', '--quiet', ...units], { mayFail: true });
}
