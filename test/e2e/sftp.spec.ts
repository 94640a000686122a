import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import ssh2, { type SFTPWrapper } from 'ssh2';
import type { TestAccount } from '../support/app.js';
import { freePort } from '../support/free-ports.js';
import { until } from '../support/until.js';
import { Hosting, onEngine, powered, reach, runningServer, SMALL, type Server } from './support/hosting.js';
import { OpenSsh, type Login } from './support/openssh.js';
import { kexLists, oddPacket } from './support/ssh-bytes.js';

/** The way to services' files, with OpenSSH's own client and with one that does not keep to the rules. */
onEngine('SFTP', () => {
  let hosting: Hosting;
  let openssh: OpenSsh;
  let port: number;
  let account: TestAccount;
  let server: Server;
  let login: Login;

  beforeAll(async () => {
    openssh = new OpenSsh();
    port = await freePort();
    hosting = await Hosting.start({
      env: {
        SFTP_PORT: String(port),
        SFTP_HOST_KEY_FILE: openssh.hostKeyFile,
        WORKSHOP_SOCKET_DIR: join(openssh.folder, 'sockets'),
      },
    });
    account = await hosting.berth.makeAccount();
    server = await runningServer(account.api);
    login = await rotate(server);
  }, 120_000);
  afterAll(async () => {
    await hosting?.close();
    openssh?.close();
  });

  async function rotate({ id }: Server): Promise<Login> {
    const { username, password } = (await account.api.post(`/servers/${id}/settings/sftp/rotate-password`)).expect(200)
      .body as { username: string; password: string };
    return { port, username, password };
  }

  /** A session of a client that can be told to do anything. */
  async function session(as: Login = login): Promise<{ client: ssh2.Client; sftp: SFTPWrapper }> {
    const client = new ssh2.Client();
    client.connect({ host: '127.0.0.1', port, username: as.username, password: as.password, readyTimeout: 20_000 });
    await once(client, 'ready');
    client.setNoDelay(true);
    const sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
      client.sftp((error, made) => (error ? reject(error) : resolve(made)));
    });
    return { client, sftp };
  }

  const statusOf = (work: (done: (error?: Error | null) => void) => void): Promise<number> =>
    new Promise((resolve) => work((error) => resolve((error as { code?: number } | null | undefined)?.code ?? 0)));

  const PERMISSION_DENIED = 3;
  const FAILURE = 4;

  /** Every verb there is. */
  async function everyVerb(): Promise<void> {
    const content = randomBytes(300_000);
    writeFileSync(join(openssh.folder, 'up'), content);
    const { code, stdout, stderr } = await openssh.batch(login, [
      'pwd',
      'mkdir verbs',
      'cd verbs',
      'put up',
      'put -p up kept',
      'ls -la',
      'rename kept moved',
      'chmod 600 moved',
      'symlink up link',
      'get link down',
      'df',
      '-reput up',
      '-reget up down',
      'rm link',
      'rm moved',
      'rm up',
      'cd ..',
      'rmdir verbs',
      'ls',
    ]);
    expect([code, stdout, stderr]).toEqual([0, expect.anything(), expect.anything()]);
    expect(stdout).toContain('Remote working directory: /home/container');
    expect(readFileSync(join(openssh.folder, 'down')).equals(content)).toBe(true);
  }

  test('carries out every verb of OpenSSH on a running service and on a stopped one', async () => {
    await everyVerb();
    await powered(account.api, server.id, 'stop');
    await reach(account.api, server.id, 'STOPPED');
    await everyVerb();
    await powered(account.api, server.id, 'start');
    await reach(account.api, server.id, 'RUNNING');
    await everyVerb();
  }, 90_000);

  test("what is put there belongs to the service's user, and its program finds it", async () => {
    writeFileSync(join(openssh.folder, 'main.py'), PRINTS_OWNER);
    expect((await openssh.batch(login, ['put main.py'])).code).toBe(0);
    await powered(account.api, server.id, 'restart');
    await until('its words', async () => (await hosting.engine.consoleLog(nameOf(server))).includes('owner 1000 1000'));
  }, 60_000);

  test('copies a thousand files there and back', async () => {
    const from = join(openssh.folder, 'many');
    mkdirSync(from);
    for (let i = 0; i < 1000; i++) writeFileSync(join(from, `file-${i}`), `content ${i}\n`);
    const up = await openssh.batch(login, ['put -R many']);
    expect({ code: up.code, stderr: up.stderr }).toEqual({ code: 0, stderr: '' });
    const down = await openssh.batch(login, ['get -R many back']);
    expect({ code: down.code, stderr: down.stderr }).toEqual({ code: 0, stderr: '' });
    for (let i = 0; i < 1000; i++) {
      expect(readFileSync(join(openssh.folder, 'back', `file-${i}`), 'utf8')).toBe(`content ${i}\n`);
    }
  }, 120_000);

  test('nothing leads out of the files', async () => {
    const { client, sftp } = await session();
    const outside = [
      '/etc/passwd',
      '../../etc/passwd',
      '/home/container/../../etc/passwd',
      '/home/containerx',
      '/',
      '..',
    ];
    for (const path of outside) {
      expect([path, await statusOf((done) => sftp.open(path, 'r', done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.open(path, 'w', done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.opendir(path, done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.stat(path, done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.unlink(path, done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.mkdir(path, done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.rename('main.py', path, done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.symlink(path, 'a-link', done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.chmod(path, 0o777, done))]).toEqual([path, PERMISSION_DENIED]);
    }
    client.end();
  }, 60_000);

  test('links that the program made lead nowhere but to the files', async () => {
    writeFileSync(join(openssh.folder, 'main.py'), MAKES_TRAPS);
    expect((await openssh.batch(login, ['put main.py'])).code).toBe(0);
    await powered(account.api, server.id, 'restart');
    await until('its traps', async () => (await hosting.engine.consoleLog(nameOf(server))).includes('traps are set'));
    const { client, sftp } = await session();
    for (const path of ['to-etc/passwd', 'to-passwd', 'to-proc/1/environ', 'to-tmp/x']) {
      expect([path, await statusOf((done) => sftp.open(path, 'r', done))]).not.toEqual([path, 0]);
      expect([path, await statusOf((done) => sftp.open(path, 'w', done))]).not.toEqual([path, 0]);
      expect([path, await statusOf((done) => sftp.chmod(path, 0o777, done))]).not.toEqual([path, 0]);
    }
    for (const path of ['to-etc/passwd', 'to-passwd']) {
      expect([path, await statusOf((done) => sftp.stat(path, done))]).toEqual([path, PERMISSION_DENIED]);
      expect([path, await statusOf((done) => sftp.realpath(path, done))]).toEqual([path, PERMISSION_DENIED]);
    }
    expect(await statusOf((done) => sftp.lstat('to-etc/passwd', done))).toBe(PERMISSION_DENIED);
    // Whether others' processes can be seen there at all is up to the kernel.
    expect(await statusOf((done) => sftp.stat('to-proc/1/environ', done))).not.toBe(0);
    expect(await statusOf((done) => sftp.lstat('to-passwd', done))).toBe(0);
    expect(await statusOf((done) => sftp.symlink('main.py', 'also-main', done))).toBe(0);
    expect(await statusOf((done) => sftp.open('also-main', 'r', done))).toBe(0);
    expect(await statusOf((done) => sftp.opendir('to-etc', done))).toBe(PERMISSION_DENIED);
    expect(await statusOf((done) => sftp.open('to-main', 'r', done))).toBe(0);
    // A pipe with nobody at its other end would hold the server up for ever.
    expect(await statusOf((done) => sftp.open('pipe', 'r', done))).not.toBe(0);
    expect(await statusOf((done) => sftp.stat('main.py', done))).toBe(0);
    client.end();
  }, 60_000);

  test('refuses hard links and permissions that borrow rights', async () => {
    const { client, sftp } = await session();
    // The client will not ask for what it was not offered.
    expect(() => sftp.ext_openssh_hardlink('main.py', 'hard', () => undefined)).toThrow(/does not support/);
    expect(await statusOf((done) => sftp.chmod('main.py', 0o4755, done))).toBe(PERMISSION_DENIED);
    expect(await statusOf((done) => sftp.chmod('main.py', 0o2755, done))).toBe(PERMISSION_DENIED);
    expect(await statusOf((done) => sftp.chmod('main.py', 0o755, done))).toBe(0);
    client.end();
  });

  test('obeys the quota of the service', async () => {
    const { client, sftp } = await session();
    const file = await new Promise<Buffer>((resolve, reject) => {
      sftp.open('too-large', 'w', (error, handle) => (error ? reject(error) : resolve(handle)));
    });
    // Nothing that could be compressed away.
    const piece = randomBytes(1024 * 1024);
    const write = (at: number) => statusOf((done) => sftp.write(file, piece, 0, piece.length, at * piece.length, done));
    let [written, status] = [0, 0];
    while (status === 0 && written < SMALL.disk + 64) {
      status = await write(written);
      if (status === 0) written++;
    }
    expect(status).toBe(FAILURE);
    expect(written).toBeGreaterThan(SMALL.disk / 4);
    expect(written).toBeLessThanOrEqual(SMALL.disk);
    await statusOf((done) => sftp.close(file, done));
    expect(await statusOf((done) => sftp.unlink('too-large', done))).toBe(0);
    client.end();
  }, 120_000);

  test('offers nothing but strong algorithms, no compression, and says nothing of its version', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('SSH-2.0-test\r\n');
    let bytes = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => (bytes = Buffer.concat([bytes, data])));
    const lists = await until('its offer', () => kexLists(bytes));
    socket.destroy();
    expect(bytes.toString('latin1').split('\r\n')[0]).toBe('SSH-2.0-OpenSSH');
    const [kex, hostKey, ...both] = lists as [string[], string[], ...string[][]];
    expect(kex.filter((name) => !name.startsWith('kex-strict') && name !== 'ext-info-s')).toEqual([
      'curve25519-sha256',
      'curve25519-sha256@libssh.org',
      'ecdh-sha2-nistp256',
    ]);
    expect(hostKey).toEqual(['ssh-ed25519']);
    for (const ciphers of both.slice(0, 2))
      expect(ciphers).toEqual(['aes256-gcm@openssh.com', 'aes128-gcm@openssh.com']);
    for (const compression of both.slice(4, 6)) expect(compression).toEqual(['none']);
  });

  test('has no shell, no commands, no forwarding', async () => {
    expect((await openssh.ssh(login, ['id'])).code).not.toBe(0);
    expect((await openssh.ssh(login, ['-N', '-oExitOnForwardFailure=yes', '-R', '0:127.0.0.1:1'])).code).not.toBe(0);
  }, 60_000);

  test("lets nobody into another account's service, nor without the right password", async () => {
    const other = await hosting.berth.makeAccount();
    const [, uuid = ''] = login.username.split(/\.(?=[^.]*$)/);
    for (const wrong of [
      { ...login, username: `${other.username}.${uuid}` },
      { ...login, password: 'wrong' },
      { ...login, username: `${account.username}.00000000` },
      { ...login, username: account.username },
    ]) {
      const { code, stderr } = await openssh.batch(wrong, ['ls']);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/Permission denied/);
    }
  }, 60_000);

  test('ends sessions within five seconds when the password is rotated, and takes the new one', async () => {
    const { client, sftp } = await session();
    expect(await statusOf((done) => sftp.stat('main.py', done))).toBe(0);
    const closed = once(client, 'close');
    const began = Date.now();
    const old = login;
    login = await rotate(server);
    await closed;
    expect(Date.now() - began).toBeLessThan(5000);
    expect((await openssh.batch(old, ['ls'])).code).not.toBe(0);
    expect((await openssh.batch(login, ['ls'])).code).toBe(0);
  }, 30_000);

  test('ends sessions within five seconds when the account is suspended', async () => {
    const { client, sftp } = await session();
    expect(await statusOf((done) => sftp.stat('main.py', done))).toBe(0);
    const closed = once(client, 'close');
    const began = Date.now();
    const become = (status: string) =>
      hosting.rows('UPDATE accounts SET status = ? WHERE id = ?', [status, account.id]);
    await become('suspended');
    await closed;
    expect(Date.now() - began).toBeLessThan(5000);
    expect((await openssh.batch(login, ['ls'])).code).not.toBe(0);
    await become('active');
    expect((await openssh.batch(login, ['ls'])).code).toBe(0);
  }, 30_000);

  test('whatever is sent to it, it goes on', async () => {
    const greeting = Buffer.from([0, 0, 0, 5, 1, 0, 0, 0, 3]);
    for (let round = 0; round < 15; round++) {
      const sent: Buffer[] = [
        [randomBytes(1 + Math.floor(Math.random() * 500))],
        [greeting, randomBytes(1 + Math.floor(Math.random() * 500))],
        [greeting, ...Array.from({ length: 50 }, oddPacket)],
      ][round % 3]!;
      const { client, channel } = await rawChannel(login);
      let over = false;
      channel.once('close', () => (over = true));
      // What nobody reads would never end.
      channel.resume();
      channel.end(Buffer.concat(sent));
      await until(`an end after ${Buffer.concat(sent).toString('hex')}`, () => over);
      const left = once(client, 'close');
      client.end();
      await left;
    }
    for (let round = 0; round < 30; round++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.resume();
      socket.write(round % 2 ? 'SSH-2.0-fuzz\r\n' : '');
      socket.end(randomBytes(1 + Math.floor(Math.random() * 2000)));
      await once(socket, 'close');
    }
    expect((await openssh.batch(login, ['ls'])).code).toBe(0);
    expect(hosting.berth.process('node').running).toBe(true);
  }, 120_000);

  test('tells what was done, a thousand files as one entry', async () => {
    await hosting.berth.process('node').stop();
    await hosting.berth.process('node').start();
    const entries = (await account.api.get(`/servers/${server.id}/activity?limit=200`)).expect(200).body as {
      event: string;
      properties: { count: number; files: string[] };
    }[];
    const counts = (event: string): number =>
      entries.filter((entry) => entry.event === event).reduce((sum, { properties }) => sum + properties.count, 0);
    expect(counts('server:sftp.create')).toBeGreaterThanOrEqual(1000);
    expect(entries.filter(({ event }) => event === 'server:sftp.create').length).toBeLessThan(30);
    for (const event of ['create-directory', 'rename', 'delete'])
      expect(counts(`server:sftp.${event}`)).toBeGreaterThan(0);
  }, 60_000);

  test('locks out who guesses', async () => {
    const victim = await runningServer(account.api);
    const right = await rotate(victim);
    for (let round = 0; round < 4; round++) {
      const guesses = { ...right, password: createHash('sha256').update(String(round)).digest('hex') };
      await openssh.batch(guesses, ['ls'], ['-oNumberOfPasswordPrompts=3']);
    }
    expect((await openssh.batch(right, ['ls'])).code).not.toBe(0);
    expect((await openssh.batch(login, ['ls'])).code).toBe(0);
  }, 90_000);

  test('another node leaves the sessions of this one alone, and does without sockets', async () => {
    const { client, sftp } = await session();
    const other = await freePort();
    const settings = { NODE_NAME: 'another', SFTP_PORT: String(other), WORKSHOP_SOCKET_DIR: '', CONSOLE_PORT: '0' };
    const added = await hosting.add(['node'], settings);
    const content = randomBytes(1_000_000);
    writeFileSync(join(openssh.folder, 'from'), content);
    const { code, stderr } = await openssh.batch({ ...login, port: other }, ['put from', 'get from to']);
    expect([code, stderr]).toEqual([0, '']);
    expect(readFileSync(join(openssh.folder, 'to')).equals(content)).toBe(true);
    expect(await statusOf((done) => sftp.stat('from', done))).toBe(0);
    client.end();
    await added.stop();
  }, 60_000);

  test('ends sessions when the service is deleted, and leaves nothing in the engine', async () => {
    const { client } = await session();
    const closed = once(client, 'close');
    const began = Date.now();
    (await account.api.delete(`/servers/${server.id}`)).expect(204);
    await closed;
    expect(Date.now() - began).toBeLessThan(5000);
    await until(
      'an engine without it',
      async () => {
        const ulid = server.id.slice(4);
        return (await hosting.inEngine()).every((thing) => !thing.includes(ulid));
      },
      45_000,
    );
  }, 60_000);

  async function rawChannel(as: Login): Promise<{ client: ssh2.Client; channel: ssh2.ClientChannel }> {
    const client = new ssh2.Client();
    client.on('error', () => undefined);
    client.connect({ host: '127.0.0.1', port, username: as.username, password: as.password });
    await once(client, 'ready');
    const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) => {
      client.once('close', () => reject(new Error('the connection was closed')));
      client.subsys('sftp', (error, made) => (error ? reject(error) : resolve(made)));
    });
    return { client, channel };
  }
});

function nameOf({ id }: Server): string {
  return id.replace('_', '-');
}

const PRINTS_OWNER = `
import os, time
found = os.stat('/home/container/main.py')
print('owner', found.st_uid, found.st_gid, flush=True)
time.sleep(3600)
`;

const MAKES_TRAPS = `
import os, time
os.chdir('/home/container')
for name, target in {'to-etc': '/etc', 'to-passwd': '/etc/passwd', 'to-proc': '/proc', 'to-tmp': '/tmp', 'to-main': 'main.py'}.items():
    os.path.islink(name) or os.symlink(target, name)
os.path.exists('pipe') or os.mkfifo('pipe')
print('traps are set', flush=True)
time.sleep(3600)
`;
