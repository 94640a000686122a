import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { COMMON_ARGUMENTS, emptyDevices, mmdebstrap } from './rootfs.mjs';

/** A Debian tree with an init of its own, and with apt: it is for its owner to change. */
export async function bootstrapMachine({ target, suite, packages, sources, onLine }) {
  const args = [...COMMON_ARGUMENTS, '--variant=minbase', `--include=${packages.join(',')}`, suite, target, '-'];
  await mmdebstrap(args, sources, onLine);
}

/** Takes away whatever names the machine it was built on or would be the same in every machine, and sets the units. */
export async function finishMachine(root, { enabled, disabled }) {
  const own = (await readdir(join(root, 'etc/ssh'))).filter((name) => name.startsWith('ssh_host_'));
  const traces = ['etc/hostname', 'etc/resolv.conf', 'etc/apt/sources.list', 'var/lib/dbus/machine-id'];
  for (const path of [...traces, ...own.map((name) => `etc/ssh/${name}`)]) await rm(join(root, path), { force: true });
  // Empty: the first start makes one.
  await writeFile(join(root, 'etc/machine-id'), '');
  await symlink('../run/systemd/resolve/stub-resolv.conf', join(root, 'etc/resolv.conf'));
  await writeFile(join(root, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n');
  await mkdir(join(root, 'root/.ssh'), { recursive: true });
  await chmod(join(root, 'root/.ssh'), 0o700);
  const wants = join(root, 'etc/systemd/system/multi-user.target.wants');
  await mkdir(wants, { recursive: true });
  for (const unit of enabled) await link(unitPath(unit), join(wants, unit));
  for (const unit of disabled) await link('/dev/null', join(root, 'etc/systemd/system', unit));
  await emptyDevices(root);
}

function unitPath(unit) {
  return unit.startsWith('berth-') ? `/etc/systemd/system/${unit}` : `/lib/systemd/system/${unit}`;
}

async function link(target, path) {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
  await symlink(target, path);
}
