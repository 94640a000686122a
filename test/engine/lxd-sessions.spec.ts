import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { hasLxd, LxdTarget } from './support/lxd-target.js';
import type { Program } from './support/programs.js';
import { finished, linesOf, sessionContract, shell } from './support/session-contract.js';
import { until } from '../support/until.js';

const LINES = 100_000;
/** All programs in the container, one a line. */
const COMMANDS = `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null`;

/** Prints numbered lines as fast as it can once it is told to. */
const FLOODS: Program = {
  source: `
    console.log('ready');
    process.stdin.on('data', () => {
      for (let n = 0; n < ${LINES}; n += 100)
        process.stdout.write(Array.from({ length: 100 }, (_, i) => 'line ' + (n + i) + '\\n').join(''));
    });
    setInterval(() => {}, 1000);`,
  behaviour: {},
};

/** Takes connections and reads nothing from them. */
const HOLDS: Program = {
  source: `
    require('node:net').createServer({ pauseOnConnect: true }).listen('/tmp/holder', () => console.log('ready'));`,
  behaviour: {},
};

/** Sends its standard output along a socket (unix(7), SCM_RIGHTS), where it stays open as long as nobody takes it. */
const GIVES_OUTPUT = `
  use Socket;
  socket my $to, AF_UNIX, SOCK_STREAM, 0 or die $!;
  connect $to, sockaddr_un("/tmp/holder") or die $!;
  my ($data, $rights) = ("x", pack "Q l l l x4", 20, 1, 1, 1);
  my $vector = pack "P Q", $data, 1;
  my $message = pack "Q L x4 P Q P Q l x4", 0, 0, $vector, 1, $rights, length $rights, 0;
  syscall(${{ x64: 46, arm64: 211 }[process.arch as 'x64']}, fileno $to, $message, 0) == 1 or die $!;
  syswrite STDOUT, "given\\n";`;

(hasLxd ? describe : describe.skip)('LXD', () => {
  const target = new LxdTarget(5);
  sessionContract(target);

  describe('a program beside the service', () => {
    const { engine } = target;
    let name = '';
    const run = async (command: string, more = {}) => finished(await engine.exec(name, shell(command, more)));
    const running = async () => (await run(COMMANDS)).at(1) as string;

    beforeAll(async () => {
      name = (await target.make(FLOODS, { limits: { memoryMb: 256, cpuPercent: 200, processes: 200 } })).name;
      await engine.startInstance(name);
      await target.untilPrinted(name, 'ready');
    }, 600_000);

    it('is the service’s user, without privileges, in its folder', async () => {
      expect(await run('id -u; id -g; id -G; pwd')).toEqual([0, '1000\n1000\n1000\n/home/container\n', '']);
      const [, status] = await run('cat /proc/self/status');
      expect(status).toMatch(/^CapBnd:\t0+$/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    });

    it('sees exactly the variables it is given', async () => {
      const environment = { A: ' spaced ', EMPTY: '', QUOTED: `"'$A` };
      const [, seen] = await finished(
        await engine.exec(name, { ...shell('', { environment }), command: ['/usr/bin/env'] }),
      );
      expect(seen.split('\n').filter(Boolean).sort()).toEqual(['A= spaced ', 'EMPTY=', `QUOTED="'$A`]);
    });

    it.each([
      ['KILL', 137],
      ['TERM', 143],
      ['SEGV', 139],
    ])('that ends by SIG%s has code %i', async (signal, code) => {
      expect((await run(`kill -${signal} $$`))[0]).toBe(code);
    });

    it.each([
      ['there is no such program', { command: ['/no/such'] }, 127],
      ['there is no such folder', { cwd: '/no/such' }, 126],
    ])('that cannot begin says so: %s', async (_, more, code) => {
      const [exit, out, err] = await run('true', more);
      expect([exit, out]).toEqual([code, '']);
      expect(err).toContain('/no/such');
    });

    it('may be the container’s root, for the platform’s own tools', async () => {
      expect(await run('id -u', { user: 0, group: 0, cwd: '/' })).toEqual([0, '0\n', '']);
    });

    it('takes and gives any bytes', async () => {
      const session = await engine.exec(
        name,
        shell('head -c 30000000 /dev/urandom | tee /tmp/r; sha256sum /tmp/r >&2'),
      );
      session.stdin.end();
      const hash = createHash('sha256');
      const [err] = await Promise.all([
        text(session.stderr),
        (async () => {
          for await (const chunk of session.stdout) hash.update(chunk as Buffer);
        })(),
      ]);
      expect(err.split(' ')[0]).toBe(hash.digest('hex'));
    });

    it('leaves nothing behind, whatever it does to get away', async () => {
      const escape = `
        (setsid setsid sleep 7001 &) ; nohup sleep 7002 >/dev/null 2>&1 &
        perl -e 'if (!fork) { $SIG{TERM} = $SIG{HUP} = "IGNORE"; if (!fork) { setpgrp; exec "sleep", 7003 } exit }' &
        sleep 0.3; ${COMMANDS}; exit 5`;
      const [code, out] = await run(escape);
      expect(code).toBe(5);
      for (const time of [7001, 7002, 7003]) expect(out).toMatch(new RegExp(`^sleep ${time}`, 'm'));
      expect(await running()).not.toMatch(/^sleep/m);
    });

    it('is given up by kill where its output was given to somebody who keeps it', async () => {
      const holder = await target.started(HOLDS);
      await target.untilPrinted(holder.name, 'ready');
      const session = await engine.exec(holder.name, { ...shell(''), command: ['/usr/bin/perl', '-e', GIVES_OUTPUT] });
      session.stderr.resume();
      await new Promise((resolve) => session.stdout.once('data', resolve));
      await session.kill();
      expect(await session.exit).toBe(137);
    });

    it('is ended with all its children by kill, a fork bomb too', async () => {
      const bomb = await engine.exec(name, shell('echo begun; f() { f & f & sleep 7004; }; f 2>/dev/null; sleep 7005'));
      bomb.stderr.resume();
      await new Promise((resolve) => bomb.stdout.once('data', resolve));
      await bomb.kill();
      expect(await bomb.exit).toBe(137);
      expect(await running()).not.toMatch(/^sleep/m);
    });
  });

  it('loses and reorders nothing of a flood', async () => {
    const { engine } = target;
    const { name } = await target.started(FLOODS);
    await target.untilPrinted(name, 'ready');
    const attached = await engine.attachConsole(name);
    const lines = linesOf(attached);
    attached.write('go\n');
    await until('the last line', () => lines.length >= LINES, 50_000);
    expect(lines.findIndex((line, n) => line !== `line ${n}`)).toBe(-1);
    expect(lines).toHaveLength(LINES);
    attached.close();
  });
});
