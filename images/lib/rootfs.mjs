import { chmod, chown, cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.mjs';

const UNWANTED = ['usr/share/doc', 'usr/share/man', 'usr/share/info', 'usr/share/locale', 'usr/share/lintian'];

// The manual's folders stay: OpenJDK's installation puts links there.
const KEPT_OUT = [
  ...UNWANTED.filter((path) => path !== 'usr/share/man').map((path) => `/${path}/*`),
  '/usr/share/man/*.gz',
  '/usr/share/gitweb/*',
  '/usr/share/bash-completion/*',
];

export const COMMON_ARGUMENTS = [
  '--mode=root',
  '--format=directory',
  '--dpkgopt=force-unsafe-io',
  ...KEPT_OUT.map((path) => `--dpkgopt=path-exclude=${path}`),
  // Of the documentation, the licences have to stay.
  '--dpkgopt=path-include=/usr/share/doc/*/copyright',
];

/** A minimal Debian tree with `packages`, without apt: nothing can be installed as root in a service anyway. */
export async function bootstrap({ target, suite, packages, sources, onLine }) {
  const args = [...COMMON_ARGUMENTS, '--variant=essential', `--include=${packages.join(',')}`, suite, target, '-'];
  await mmdebstrap(args, sources, onLine);
  await emptyDevices(target);
}

/** Containers get theirs from the engine, and who extends the tree makes its own. */
export async function emptyDevices(root) {
  for (const name of await readdir(join(root, 'dev'))) await rm(join(root, 'dev', name), { recursive: true });
}

/** Adds packages to a tree that `bootstrap` made. */
export async function extend({ target, suite, packages, sources, onLine }) {
  if (packages.length === 0) return;
  const added = ['--variant=custom', '--skip=check/empty', `--include=${packages.join(',')}`];
  await mmdebstrap([...COMMON_ARGUMENTS, ...added, suite, target, '-'], sources, onLine);
}

/** In a mount namespace of its own: what it mounts below the tree is nobody else's to hold, and is gone when it ends. */
export async function mmdebstrap(args, sources, onLine) {
  const namespace = ['--mount', '--propagation', 'private', '--'];
  await run('unshare', [...namespace, 'mmdebstrap', ...args], { input: `${sources.join('\n')}\n`, onLine });
}

/** Appears under its name only when it is whole; several processes may pack the same. */
export async function pack(file, folder, names) {
  const part = `${file}.${process.pid}.part`;
  const archive = ['--create', '--numeric-owner', '--use-compress-program=zstd -3 -T0', '--file', part];
  try {
    await run('tar', [...archive, '--directory', folder, ...names]);
    await rename(part, file);
  } finally {
    await rm(part, { force: true });
  }
}

export async function unpack(file, folder) {
  await mkdir(folder, { recursive: true });
  await run('tar', ['--extract', '--numeric-owner', '--file', file, '--directory', folder]);
}

export async function overlay(root, folder) {
  await cp(folder, root, { recursive: true, force: true });
}

/** The unprivileged user, the mount point, the state folder, and no corner of the root file system left open to it. */
export async function harden(root) {
  const append = async (file, line) => {
    const path = join(root, 'etc', file);
    const text = await readFile(path, 'utf8').catch(() => '');
    await writeFile(path, `${text}${line}\n`);
  };
  await append('passwd', 'container:x:1000:1000:container:/home/container:/bin/bash');
  await append('group', 'container:x:1000:');
  await append('shadow', 'container:*:19000:0:99999:7:::');
  await mkdir(join(root, 'home/container'), { recursive: true });
  await mkdir(join(root, 'var/lib/berth'), { recursive: true });
  await chmod(join(root, 'var/lib/berth'), 0o700);
  await writeFile(join(root, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n');
  await writeFile(join(root, 'etc/hostname'), 'service\n');
  for (const path of ['etc/resolv.conf', 'etc/machine-id', 'var/tmp']) {
    await rm(join(root, path), { recursive: true, force: true });
  }
  await writeFile(join(root, 'etc/machine-id'), '');
  await symlink('/tmp', join(root, 'var/tmp'));
  for (const path of ['tmp', 'run/lock']) await chmod(join(root, path), 0o755).catch(() => {});
  for (const path of ['dev', 'proc', 'sys', 'run']) await mkdir(join(root, path), { recursive: true });
  await emptyDevices(root);
  await walk(root, '', async (path, info) => {
    const full = join(root, path);
    if (path.startsWith('usr/local')) await chown(full, 0, 0);
    const mode = info.mode & 0o7777;
    const strict = mode & (info.isDirectory() ? 0o7775 : 0o1775);
    if (strict !== mode) await chmod(full, strict);
  });
}

/** Visits files and directories, never through a symbolic link. */
async function walk(root, path, visit) {
  const entries = await readdir(join(root, path), { withFileTypes: true });
  for (const entry of entries) {
    if (entry.isSymbolicLink()) continue;
    const inner = path ? `${path}/${entry.name}` : entry.name;
    await visit(inner, await stat(join(root, inner)));
    if (entry.isDirectory()) await walk(root, inner, visit);
  }
}

export async function removePaths(root, paths) {
  for (const path of [...paths, ...UNWANTED.filter((folder) => folder !== 'usr/share/doc')]) {
    await rm(join(root, path), { recursive: true, force: true });
  }
  for (const path of ['var/cache/apt', 'var/lib/apt', 'var/log', 'var/cache/debconf', 'var/cache/ldconfig']) {
    await rm(join(root, path), { recursive: true, force: true });
    await mkdir(join(root, path), { recursive: true });
  }
  const dpkg = join(root, 'var/lib/dpkg/info');
  for (const name of await readdir(dpkg)) if (!name.endsWith('.list')) await rm(join(dpkg, name));
}
