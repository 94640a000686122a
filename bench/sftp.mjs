import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BenchBerth, freePort, median, until } from './support/berth.mjs';

const MEGABYTES = 256;
const ROUNDS = 9;
const execute = promisify(execFile);
const SSHD = '/usr/sbin/sshd';

export const name = `SFTP: ${MEGABYTES} MB up and down against scp into this machine's own sshd`;

export async function run(ctx) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-sftp-'));
  const sshd = await startSshd(folder);
  const port = await freePort();
  const hostKey = join(folder, 'berth-host-key');
  await execute('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', hostKey]);
  const berth = await BenchBerth.start(ctx.env, {
    SFTP_PORT: String(port),
    SFTP_HOST_KEY_FILE: hostKey,
    WORKSHOP_SOCKET_DIR: join(folder, 'sockets'),
    FIREWALL: 'off',
  });
  try {
    const login = await makeLogin(berth, port);
    await execute('dd', ['if=/dev/urandom', `of=${join(folder, 'up')}`, 'bs=1M', `count=${MEGABYTES}`, 'status=none']);
    const ours = (...commands) => sftp(folder, login, commands);
    const theirs = (from, to) => scp(folder, sshd, from, to);
    await ours('ls');
    const seconds = { 'up ours': [], 'up theirs': [], 'down ours': [], 'down theirs': [] };
    // In turns, so that a noisy neighbour disturbs both alike; the first round only warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [what, work] of [
        ['up ours', () => ours('put up there')],
        ['up theirs', () => theirs('up', `root@127.0.0.1:${folder}/there`)],
        ['down ours', () => ours('get there back')],
        ['down theirs', () => theirs(`root@127.0.0.1:${folder}/there`, 'back')],
      ]) {
        const began = performance.now();
        await work();
        if (round > 0) seconds[what].push((performance.now() - began) / 1000);
      }
    }
    return ['up', 'down'].map((way) => {
      const [ours, yardstick] = ['ours', 'theirs'].map((who) => MEGABYTES / median(seconds[`${way} ${who}`]));
      return {
        what: `SFTP ${MEGABYTES} MB ${way}`,
        unit: 'MB/s',
        ours,
        yardstick,
        ratio: ours / yardstick,
        target: '>= 0.5',
      };
    });
  } finally {
    await berth.stop();
    sshd.child.kill('SIGTERM');
    rmSync(folder, { recursive: true });
  }
}

/** A running service's own login. */
async function makeLogin(berth, port) {
  const wanted = { name: 'bench', runtime: 'python', ram: 256, disk: 2048, cpu: 100 };
  const { id } = await berth.call('POST', '/servers', wanted);
  await berth.call('GET', `/servers/${id}?waitFor=RUNNING&timeout=60`);
  const { username, password } = await berth.call('POST', `/servers/${id}/settings/sftp/rotate-password`);
  return { port, username, password };
}

/** The machine's own sshd on loopback, with keys and a configuration that nothing else uses. */
async function startSshd(folder) {
  for (const key of ['host', 'client']) {
    await execute('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, key)]);
  }
  await execute('cp', [join(folder, 'client.pub'), join(folder, 'authorized')]);
  const port = await freePort();
  const config = join(folder, 'sshd_config');
  writeFileSync(
    config,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${join(folder, 'host')}`,
      `AuthorizedKeysFile ${join(folder, 'authorized')}`,
      'StrictModes no',
      'PermitRootLogin prohibit-password',
      'UsePAM no',
      'PidFile none',
      'Subsystem sftp internal-sftp',
      '',
    ].join('\n'),
  );
  if (!existsSync('/run/sshd')) mkdirSync('/run/sshd', { mode: 0o755 });
  const child = spawn(SSHD, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'ignore'] });
  const answers = () =>
    execute('ssh-keyscan', ['-p', String(port), '127.0.0.1']).then(
      () => true,
      () => false,
    );
  await until(answers);
  return { child, port };
}

// The same cipher for both: what is compared is the way to the files.
const OPTIONS = [
  '-oStrictHostKeyChecking=no',
  '-oUserKnownHostsFile=/dev/null',
  '-oCiphers=aes128-gcm@openssh.com',
  '-oLogLevel=ERROR',
];

async function scp(folder, { port }, from, to) {
  const args = ['-q', '-P', String(port), '-i', join(folder, 'client'), ...OPTIONS, from, to];
  await execute('scp', args, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
}

async function sftp(folder, { port, username, password }, commands) {
  const askpass = join(folder, 'askpass');
  if (!existsSync(askpass)) {
    writeFileSync(askpass, '#!/bin/sh\necho "$SFTP_PASSWORD"\n');
    chmodSync(askpass, 0o700);
  }
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    SSH_ASKPASS: askpass,
    SSH_ASKPASS_REQUIRE: 'force',
    SFTP_PASSWORD: password,
  };
  const args = [
    '-q',
    '-oBatchMode=no',
    '-b',
    '-',
    '-P',
    String(port),
    '-oPreferredAuthentications=password',
    ...OPTIONS,
  ];
  const child = spawn('sftp', [...args, `${username}@127.0.0.1`], {
    cwd: folder,
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.end(`${commands.join('\n')}\n`);
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`sftp ended with ${code}: ${commands.join('; ')}`);
}
