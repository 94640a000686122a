/**
 * The runtime images. `packages` come from Debian; `prepare` puts in what does not; `slim` lists what nobody needs in a
 * running service: at a container's first start the engine may hand each file over to the container's own users, so every
 * thousand of them costs a tenth of a second. Files under `images/<name>/rootfs` are laid over those of `images/rootfs`.
 */
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeBinary, installNpm } from './lib/node-runtime.mjs';

export const SUITE = 'bookworm';

export const COMMON_PACKAGES = ['tini', 'git', 'ca-certificates', 'zstd', 'openssh-sftp-server'];

/** Perl comes with git, for commands that a service does without; of its library the essential part stays. */
export const COMMON_SLIM = [
  'usr/share/perl',
  'usr/share/perl5',
  'usr/lib/x86_64-linux-gnu/perl',
  'usr/lib/x86_64-linux-gnu/perl-base/unicore/lib',
  'usr/lib/aarch64-linux-gnu/perl',
  'usr/lib/aarch64-linux-gnu/perl-base/unicore/lib',
];

export const RUNTIMES = {
  nodejs: {
    description: 'Node.js 24 on Debian 12',
    startupFile: 'index.js',
    packages: ['libstdc++6', 'libatomic1'],
    slim: [],
    /** Everything that is not in the repository and decides the content, for the name's hash. */
    inputs: async () => [await nodeBinary().then((node) => node.version)],
    prepare: async (root) => {
      await cp((await nodeBinary()).file, join(root, 'usr/local/bin/node'));
      await installNpm(root);
    },
  },
  python: {
    description: 'Python 3.11 on Debian 12',
    startupFile: 'main.py',
    packages: ['python3', 'python3-pip', 'python3-venv'],
    // Debian's marker would make a plain `pip install` fail; here it installs below /home/container.
    slim: ['usr/lib/python3.11/EXTERNALLY-MANAGED', 'usr/lib/python3.11/test', 'usr/lib/python3.11/idlelib'],
    inputs: async () => [],
    prepare: async (root) => {
      await symlink('/usr/bin/python3', join(root, 'usr/local/bin/python'));
    },
  },
  java: {
    description: 'Java 17 on Debian 12',
    startupFile: 'Main.java',
    packages: ['openjdk-17-jdk-headless'],
    slim: [
      'usr/lib/jvm/java-17-openjdk-amd64/jmods',
      'usr/lib/jvm/java-17-openjdk-arm64/jmods',
      'usr/lib/jvm/java-17-openjdk-amd64/lib/ct.sym',
      'usr/lib/jvm/java-17-openjdk-arm64/lib/ct.sym',
    ],
    inputs: async () => [],
    prepare: async () => {},
  },
};
