/**
 * The machine images: whole Debian systems with an init of their own. `packages` come from Debian; files under
 * `images/<folder>/rootfs` are laid over them. They are named as tenants ask for them.
 */
export const MACHINES = {
  'debian/12': {
    folder: 'debian-12',
    suite: 'bookworm',
    os: 'Debian',
    release: '12',
    description: 'Debian 12 (bookworm)',
    packages: [
      'systemd',
      'systemd-sysv',
      'systemd-resolved',
      // The network's service waits for its word on every card.
      'udev',
      'libpam-systemd',
      'dbus',
      'openssh-server',
      'iproute2',
      'iputils-ping',
      'netbase',
      'procps',
      'ca-certificates',
      'debian-archive-keyring',
      'curl',
      'less',
      'nano',
    ],
    enabled: ['systemd-networkd.service', 'berth-host-keys.service'],
    /** Work for real disks, boot loaders and devices, of which a container has none. */
    disabled: [
      'fstrim.timer',
      'e2scrub_all.timer',
      'e2scrub_reap.service',
      'systemd-pstore.service',
      'getty@tty1.service',
    ],
  },
};
