import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import type { InstanceSpec } from '../../src/drivers/engine/engine.js';
import { hasLxd, LxdTarget } from './support/lxd-target.js';
import { PROGRAMS, SHOWS_ENVIRONMENT, TAKES_COMMANDS } from './support/programs.js';
import type { Overrides } from './support/engine-target.js';
import { portProxies } from '../support/processes.js';
import { until } from '../support/until.js';

const target = new LxdTarget(1);
const { engine } = target;

/** A running instance that takes commands. */
async function tenant(overrides: Overrides = {}): Promise<InstanceSpec & { run: (command: string) => Run }> {
  const spec = await target.make(TAKES_COMMANDS, overrides);
  await engine.startInstance(spec.name);
  const run = (command: string) => target.inside(spec.network.address, command);
  await until('it takes commands', () => run('true').catch(() => null));
  return { ...spec, run };
}

/** A port of the loopback address that leads to the program's own. */
const port = (listenPort: number, protocol: 'tcp' | 'udp' = 'tcp') => ({
  name: `${protocol}-${listenPort}`,
  protocol,
  listenAddress: '127.0.0.1',
  listenPort,
  targetPort: 3000,
});

/**
 * Tries every way to make a subvolume in a folder, also with numbers of which the kernel ignores the upper half; says why
 * each failed, and ends with the number of those that did not.
 */
const MAKES_SUBVOLUMES = `
  open my $folder, "<", $ARGV[0] or die $!;
  my ($made, $name) = (0, "a");
  for my $request (0x5000940e, 0x50009401, 0x50009418, 0x50009417) {
    for my $number ($request, 0xff00000000 + $request) {
      my $old = pack "q a4088", fileno $folder, $name;
      my $new = pack "q q q x32 a4040", fileno $folder, 0, 0, $name++;
      my $argument = $request < 0x50009410 ? $old : $new;
      if (syscall(${{ x64: 16, arm64: 29 }[process.arch as 'x64']}, fileno $folder, $number, $argument) == 0) { $made++ } else { print "$!\\n" }
    }
  }
  exit $made`;

type Run = Promise<{ code: number; output: string }>;

function reaches(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 2000 });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('connect', () => socket.write('GET / HTTP/1.0\r\n\r\n'));
    socket.on('data', end(true));
    socket.on('timeout', end(false));
    socket.on('error', end(false));
    socket.on('close', end(false));
  });
}

(hasLxd ? describe : describe.skip)('LXD keeps tenants apart', () => {
  beforeAll(() => target.open(), 600_000);
  afterEach(() => target.clean());
  afterAll(() => target.close());

  it('runs the program without any privilege, and closes every place but its own', async () => {
    const { run } = await tenant();
    const { output: status } = await run('cat /proc/self/status; id');
    expect(status).toMatch(/^Uid:\s+1000\s+1000\s+1000\s+1000$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
      expect(status).toMatch(new RegExp(`^${set}:\\s+0+$`, 'm'));
    }
    expect(status).toContain('uid=1000(container) gid=1000(container) groups=1000(container)');

    const { output: writable } = await run('find / -xdev -writable ! -type l 2>/dev/null | sort');
    expect(writable).toBe('/home/container\n/tmp\n');
    expect((await run('find / -xdev -type f -perm /6000 2>/dev/null')).output).toBe('');
    expect((await run('echo {} > /var/lib/berth/exit.json')).code).not.toBe(0);
    expect((await run('ls /var/lib/berth')).code).not.toBe(0);
    expect((await run('mv /var/lib/berth /var/lib/other')).code).not.toBe(0);
    expect((await run('kill -9 1; kill -9 -- -1; cat /proc/1/environ')).output).not.toContain('BERTH');
    expect((await run('ls -d /dev/lxd /dev/incus')).code).not.toBe(0);
    expect((await run('unshare -U true')).code).not.toBe(0);
    expect((await run('mkdir /sys/fs/cgroup/memory/x; echo 1 > /proc/sysrq-trigger; mknod x b 7 0')).code).not.toBe(0);
  });

  it('holds a volume to its size, grows it live, and counts it at once', async () => {
    const [full, other] = await Promise.all([tenant({ volumeMb: 32 }), tenant({ volumeMb: 32 })]);
    const burst = await full.run('head -c 100000000 /dev/urandom > big; sync; echo; stat -c %s big');
    expect(burst.output).toMatch(/quota|space/i);
    expect(Number(burst.output.trim().split('\n').pop())).toBeLessThan(34 * 2 ** 20);
    expect(await engine.volumeUsage(full.name)).toBeGreaterThan(24 * 2 ** 20);
    expect((await other.run('head -c 10000000 /dev/urandom > fine && sync')).code).toBe(0);
    await engine.resizeVolume(full.name, 64);
    expect((await full.run('head -c 20000000 /dev/urandom > more && sync')).code).toBe(0);
    expect((await full.run('rm big more && sync')).code).toBe(0);
    await until('the freed space is counted', async () => (await engine.volumeUsage(full.name)) < 2 ** 20, 40_000);
  });

  it('lets nobody make subvolumes, which no limit of a volume counts', async () => {
    const { run } = await tenant();
    const { output } = await run(`perl -e '${MAKES_SUBVOLUMES}' .`);
    expect(output).toBe('Inappropriate ioctl for device\n'.repeat(8));
    await target.openMachines();
    const machine = await target.makeMachine();
    await engine.startInstance(machine.name);
    expect(await target.asRoot(machine.name, ['perl', '-e', MAKES_SUBVOLUMES, '/root'])).toBe(0);
    expect(await target.asRoot(machine.name, ['sh', '-c', 'mkdir /root/plain && rmdir /root/plain'])).toBe(0);
  });

  it('bounds temporary files', async () => {
    const { run } = await tenant();
    for (const folder of ['/tmp', '/var/tmp', '/dev/shm']) {
      const { code, output } = await run(
        `head -c 100000000 /dev/zero > ${folder}/big; code=$?; rm -f ${folder}/big; exit $code`,
      );
      expect(`${code} ${output}`).toMatch(/^1 .*space/is);
    }
  });

  it('bounds a fork bomb', async () => {
    const { run, name } = await tenant({ limits: { memoryMb: 256, cpuPercent: 100, processes: 60 } });
    const { output } = await run('(for i in $(seq 200); do sleep 30 >/dev/null 2>&1 & done) 2>&1 | head -n 3');
    expect(output).toMatch(/fork|resource/i);
    const neighbour = await tenant();
    expect((await neighbour.run('echo fine')).output).toBe('fine\n');
    await engine.killInstance(name);
    expect((await engine.getInstance(name)).state).toBe('stopped');
  });

  it('holds a program to its processor share', async () => {
    const { run, name } = await tenant({ limits: { memoryMb: 256, cpuPercent: 40, processes: 60 } });
    const [before, began] = [(await engine.instanceUsage(name)).cpuNanoseconds, process.hrtime.bigint()];
    await run('timeout 3 sh -c "while :; do :; done" & timeout 3 sh -c "while :; do :; done"; wait');
    const [after, ended] = [(await engine.instanceUsage(name)).cpuNanoseconds, process.hrtime.bigint()];
    const share = (after - before) / Number(ended - began);
    expect(share).toBeGreaterThan(0.05);
    expect(share).toBeLessThan(0.55);
  });

  it('raises a memory limit live', async () => {
    const { run, name } = await tenant({ limits: { memoryMb: 128, cpuPercent: 100, processes: 60 } });
    const hungry = `node -e 'Buffer.alloc(160 << 20, 1)'`;
    expect((await run(hungry)).code).not.toBe(0);
    await engine.setLimits(name, { memoryMb: 512, cpuPercent: 100, processes: 60 });
    expect((await run(hungry)).code).toBe(0);
  });

  it('hands the program its environment to the letter, and nothing of the platform', async () => {
    const environment = {
      QUOTES: `it's "quoted" \`twice\``,
      DOLLAR: '$HOME ${PATH} $(id) %d',
      BLANKS: '  both ends  ',
      TAB: '\ta\tb\t',
      EMPTY: '',
      UNICODE: 'grüße ✓ 日本語 🚢',
      MARKS: '# ; = \\ \\n [x] {y} <z> | & !',
      WHOLLY: '"all of it"',
      LONG: 'x'.repeat(30_000),
      lower_case1: 'yes',
    };
    const { name } = await target.make(SHOWS_ENVIRONMENT, { environment });
    await engine.startInstance(name);
    const log = await until('it prints', async () => {
      const text = (await engine.consoleLog(name)).replace(/[\r\n]/g, '');
      return /ENV(.*)END/.exec(text)?.[1];
    });
    const seen = JSON.parse(Buffer.from(log, 'base64').toString()) as Record<string, string>;
    expect(seen).toMatchObject(environment);
    expect(Object.keys(seen).filter((key) => key.startsWith('BERTH'))).toEqual([]);
    expect(seen).toMatchObject({ HOME: '/home/container', USER: 'container', SERVER_PORT: '3000' });
    expect((await engine.getInstance(name)).environment).toMatchObject(environment);
  });

  it('serves a published port on loopback until it is taken back', async () => {
    const { name } = await tenant({ ports: [port(28501), port(28501, 'udp')] });
    expect(await reaches(28501)).toBe(true);
    await engine.setPorts(name, [port(28502)]);
    expect(await reaches(28501)).toBe(false);
    expect(await reaches(28502)).toBe(true);
    await engine.setPorts(name, []);
    expect(await reaches(28502)).toBe(false);
  });

  it('opens the ports of what an engine started without living to open them', async () => {
    const { name, run } = await tenant({ ports: [port(28503)] });
    const [listener] = await portProxies('127.0.0.1:28503');
    process.kill(listener!, 'SIGKILL');
    await until('nobody listens', async () => !(await reaches(28503)));
    const before = (await run('pgrep -x node')).output;
    await engine.startInstance(name);
    expect(await reaches(28503)).toBe(true);
    await engine.startInstance(name);
    expect(await reaches(28503)).toBe(true);
    expect(await portProxies('127.0.0.1:28503')).toHaveLength(1);
    expect((await run('pgrep -x node')).output).toBe(before);
  });

  it('lets no tenant reach another, nor speak in its name', async () => {
    const [one, two] = await Promise.all([tenant(), tenant()]);
    const { gateway } = target.network;
    const connecting = `node -e 'require("net").connect({host: process.argv[1], port: 3000, timeout: 1500})
      .on("connect", () => process.exit(0)).on("timeout", () => process.exit(2)).on("error", () => process.exit(3))'`;
    expect((await one.run(`${connecting} ${one.network.address}`)).code).toBe(0);
    expect((await one.run(`${connecting} ${two.network.address}`)).code).not.toBe(0);

    const heard: string[] = [];
    const socket = createSocket('udp4', (_, from) => heard.push(from.address));
    await new Promise<void>((resolve) => socket.bind(0, gateway, resolve));
    try {
      const { port } = socket.address();
      const say = (source: string) => target.asRoot(one.name, ['perl', '-e', SPEAK_AS, source, gateway, String(port)]);
      expect(await say(one.network.address)).toBe(0);
      await until('the honest packet arrives', () => heard.includes(one.network.address));
      expect(await say(two.network.address)).toBe(0);
      expect(await say(`${target.network.prefix}.251`)).toBe(0);
      // Sent after the forged ones, on the same link: once it is there, they would have been.
      const honest = heard.length;
      expect(await say(one.network.address)).toBe(0);
      await until('the last honest packet arrives', () => heard.length > honest);
      expect(new Set(heard)).toEqual(new Set([one.network.address]));
    } finally {
      socket.close();
    }
  });

  it('gives a volume to another instance with all that is on it', async () => {
    const first = await tenant();
    await first.run('mkdir -p a/b && echo kept > a/b/file && ln -s a/b/file link && chmod 600 a/b/file');
    await engine.deleteInstance(first.name);
    const spec = target.spec(target.newName(), PROGRAMS.serves, {
      volume: first.volume,
      environment: { BERTH_PHASE: 'run' },
    });
    await engine.createInstance(spec);
    try {
      await engine.startInstance(spec.name);
      const run = (command: string) => target.inside(spec.network.address, command);
      await until('it takes commands', () => run('true').catch(() => null));
      expect((await run('cat link; stat -c "%u %g %a" a/b/file; echo more >> a/b/file && echo written')).output).toBe(
        'kept\n1000 1000 600\nwritten\n',
      );
    } finally {
      await engine.deleteInstance(spec.name);
    }
  });

  it('keeps a flood of output bounded', async () => {
    const source = `const line = 'x'.repeat(199) + '\\n'; let sent = 0;
      const more = () => { while (sent++ < 50000) if (!process.stdout.write(line)) return process.stdout.once('drain', more);
      console.log('flood over'); }; more(); setInterval(() => {}, 1000);`;
    const { name } = await target.make({ source, behaviour: {} });
    await engine.startInstance(name);
    await until('the flood is over', async () => (await engine.consoleLog(name)).includes('flood over'), 30_000);
    expect((await engine.consoleLog(name)).length).toBeLessThanOrEqual(2 ** 20);
  });

  it('sees nothing of other projects', async () => {
    const project = `${target.options.project}-other`;
    const name = target.newName();
    const raw = target.raw.bind(target);
    await raw('POST', '/1.0/projects', {
      name: project,
      config: { 'features.images': 'false', 'features.profiles': 'true' },
    });
    try {
      const body = {
        name,
        source: { type: 'none' },
        devices: { root: { type: 'disk', path: '/', pool: target.options.pool } },
      };
      const made = await raw<{ id: string }>('POST', `/1.0/instances?project=${project}`, body);
      await raw('GET', `/1.0/operations/${made.metadata.id}/wait?timeout=30`);
      expect((await raw('GET', `/1.0/instances/${name}?project=${project}`)).status).toBe(200);
      expect((await engine.listInstances()).map((instance) => instance.name)).not.toContain(name);
      await expect(engine.getInstance(name)).rejects.toMatchObject({ code: 'not_found' });
      await engine.deleteInstance(name);
      expect((await raw('GET', `/1.0/instances/${name}?project=${project}`)).status).toBe(200);
    } finally {
      const removed = await raw<{ id: string }>('DELETE', `/1.0/instances/${name}?project=${project}`);
      await raw('GET', `/1.0/operations/${removed.metadata.id}/wait?timeout=30`);
      await raw('DELETE', `/1.0/projects/${project}`);
    }
  });
});

/** Takes an address as the container's root and sends a packet from it. */
const SPEAK_AS = `
  use Socket;
  my ($source, $target, $port) = @ARGV;
  socket(my $s, PF_INET, SOCK_DGRAM, 0) or exit 1;
  if (!bind($s, sockaddr_in(0, inet_aton($source)))) {
    ioctl($s, 0x8916, pack('a16 S n a4 x8', 'eth0:1', AF_INET, 0, inet_aton($source))) or exit 2;
    bind($s, sockaddr_in(0, inet_aton($source))) or exit 3;
  }
  send($s, 'hello', 0, sockaddr_in($port, inet_aton($target))) or exit 4;
`;
