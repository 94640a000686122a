import { execFileSync } from 'node:child_process';
import { connect, createServer, type Server as NetServer } from 'node:net';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import type { TestAccount } from '../support/app.js';
import { until } from '../support/until.js';
import { WingsClient } from './support/console-client.js';
import { ended, Hosting, onEngine, runningServer, type Server } from './support/hosting.js';
import { createMachine, reachMachine, redirect, SshKey, type Machine, type Redirection } from './support/machines.js';

const TABLE = 'berth_e2e_machines';

onEngine('machines', () => {
  let hosting: Hosting;
  let account: TestAccount;
  let key: SshKey;
  let one: Machine;
  let two: Machine;
  let door: Redirection;
  let otherDoor: Redirection;

  beforeAll(async () => {
    key = new SshKey();
    hosting = await Hosting.start({
      machines: true,
      env: { FIREWALL: 'on', FIREWALL_TABLE: TABLE, STOP_TIMEOUT_SECONDS: '20' },
    });
    account = await hosting.berth.makeAccount();
    const { api } = account;
    const made = await Promise.all([createMachine(api, key.public), createMachine(api, key.public, { ramMb: 256 })]);
    [one, two] = (await Promise.all(made.map(({ id }) => reachMachine(api, id, 'RUNNING')))) as [Machine, Machine];
    door = await redirect(api, one.id, { targetPort: 22, protocol: 'tcp' });
    otherDoor = await redirect(api, two.id, { targetPort: 22, protocol: 'tcp' });
    await Promise.all([key.untilIn(door), key.untilIn(otherDoor)]);
  }, 240_000);
  afterAll(async () => {
    await hosting?.close();
    key?.remove();
    for (const table of [TABLE, `${TABLE}_broker`, `${TABLE}_machines`]) {
      execFileSync('nft', ['-f', '-'], { input: `table inet ${table}\ndelete table inet ${table}\n` });
    }
  });

  const inside = async (command: string): Promise<string> => (await key.ssh(door, command)).stdout.trim();

  test('the key lets root in, and a password nobody', async () => {
    expect(await inside('id -un; ps -p 1 -o comm=')).toBe('root\nsystemd');
    const other = new SshKey();
    const refused = await other.ssh(door, 'true');
    expect([refused.code, refused.stderr]).toEqual([255, expect.stringContaining('Permission denied (publickey)')]);
    other.remove();
    expect(await inside('grep ^root: /etc/shadow | cut -d: -f2')).toMatch(/^[*!]/);
  });

  test('each has host keys, and a machine id, of its own', async () => {
    const own = 'cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub';
    const [first, second] = await Promise.all([key.ssh(door, own), key.ssh(otherDoor, own)]);
    expect(first.stdout.length).toBeGreaterThan(100);
    expect(second.stdout).not.toBe(first.stdout);
    for (const word of first.stdout.split(/\s+/).filter((text) => text.length > 30))
      expect(second.stdout).not.toContain(word);
  });

  test('processors, memory and disk are what was asked for, and nothing may be nested', async () => {
    expect(await inside('nproc')).toBe('1');
    expect(
      await inside('cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max'),
    ).toBe(String(512 * 2 ** 20));
    expect(await inside('fallocate -l 1500M /big && rm /big && echo fits')).toBe('fits');
    expect((await key.ssh(door, 'fallocate -l 2100M /big; code=$?; rm -f /big; exit $code')).stderr).toContain(
      'quota exceeded',
    );
    expect(await inside('cat /proc/self/uid_map')).not.toMatch(/^\s*0\s+0\s/);
    const [first, second] = await Promise.all([
      key.ssh(door, 'cat /proc/self/uid_map'),
      key.ssh(otherDoor, 'cat /proc/self/uid_map'),
    ]);
    expect(first.stdout).not.toBe(second.stdout);
    expect((await key.ssh(door, 'unshare -Ur --pid --fork --mount-proc true')).stderr).toContain('not permitted');
  });

  test('udp is passed on as well as tcp, and one number may be had once for each', async () => {
    const udp = await redirect(account.api, one.id, { targetPort: 7000, protocol: 'udp', publicPort: door.publicPort });
    expect(udp.publicPort).toBe(door.publicPort);
    const echo =
      'use Socket; socket(S, PF_INET, SOCK_DGRAM, 0); bind(S, sockaddr_in(7000, INADDR_ANY)) or die; ' +
      'for (1 .. 9) { my $from = recv(S, my $text, 99, 0); send(S, uc $text, 0, $from) }';
    await inside(`nohup perl -e '${echo}' </dev/null >/dev/null 2>&1 &`);
    expect(await until('an echo', () => echoed(udp, 'hello'))).toBe('HELLO');
    (await account.api.delete(`/lxc/${one.id}/ports/${udp.id}`)).expect(204);
  });

  describe('from inside', () => {
    let listener: NetServer;
    let hostPort: number;
    let service: Server;

    beforeAll(async () => {
      service = await runningServer(account.api);
      // On every address of this machine, as a careless operator's program would be.
      listener = createServer((socket) => socket.on('error', () => {}).end('host')).listen(0, '0.0.0.0');
      await once(listener, 'listening');
      hostPort = (listener.address() as { port: number }).port;
    });
    afterAll(() => listener?.close());

    /** Which of these can be connected to. */
    const reachable = async (targets: string[]): Promise<string[]> => {
      const tries = targets.map((target) => {
        const [host, port] = target.split(' ');
        return `(timeout 3 bash -c '</dev/tcp/${host}/${port}' 2>/dev/null && echo '${target}') &`;
      });
      const out = await inside(`${tries.join(' ')} wait`);
      return out === '' ? [] : out.split('\n');
    };

    /** The same from this host, which may: what is refused from inside is there. */
    const reachableFromHost = async (targets: string[]): Promise<string[]> => {
      const tries = targets.map(async (target) => {
        const [host, port] = target.split(' ');
        const socket = connect(Number(port), host).on('error', () => {});
        try {
          await once(socket, 'connect', { signal: AbortSignal.timeout(3000) });
          return [target];
        } catch {
          return [];
        } finally {
          socket.destroy();
        }
      });
      return (await Promise.all(tries)).flat();
    };

    /** The same from inside a service, for what only services may reach. */
    const reachableFromService = async (target: string): Promise<boolean> => {
      const [host, port] = target.split(' ');
      const command = `bash -c '</dev/tcp/${host}/${port}'`;
      const exec = (await account.api.post(`/servers/${service.id}/exec`, { command })).expect(202);
      const path = `/servers/${service.id}/exec/${String(exec.body.jobId)}`;
      const { status, exitCode } = (await account.api.waitFor(path, ['DONE', 'FAILED', 'TIMEOUT'])).body;
      expect(status).toBe('DONE');
      return exitCode === 0;
    };

    /** Does something while the packet filter lets this through, which it refuses otherwise. */
    const letThrough = async <T>(chain: string, rule: string, work: () => Promise<T>): Promise<T> => {
      const where = ['inet', `${TABLE}_machines`, chain];
      const echoed = execFileSync('nft', ['-e', '-a', 'insert', 'rule', ...where, ...rule.split(' ')], {
        encoding: 'utf8',
      });
      const [, handle] = /# handle (\d+)/.exec(echoed) ?? [];
      try {
        return await work();
      } finally {
        execFileSync('nft', ['delete', 'rule', ...where, 'handle', String(handle)]);
      }
    };

    test('names are resolved by the gateway, and nothing else of this host answers', async () => {
      const { env } = hosting.berth;
      const gateway = env.MACHINE_SUBNET!.split('/')[0]!;
      const hosts = [...new Set([gateway, hosting.gateway, ...addressesOfHost()])];
      const ports = [
        hostPort,
        22,
        env.PORT,
        env.INTERNAL_PORT,
        env.METRICS_PORT,
        env.BROKER_PORT,
        env.CONSOLE_PORT,
        env.TENANT_DATABASE_PORT,
      ];
      const allowed = `${gateway} 53`;
      const refused = hosts.flatMap((host) => ports.map((port) => `${host} ${port}`));
      const listening = hosts.map((host) => `${host} ${hostPort}`);
      const there = await reachableFromHost(refused);
      expect(there).toEqual(expect.arrayContaining(listening));
      expect(await reachableFromService(`${hosting.gateway} ${env.BROKER_PORT}`)).toBe(true);
      expect(await reachable([...refused, allowed])).toEqual([allowed]);
      // It is the packet filter that keeps them apart, and it alone: what it lets through arrives.
      const open = `iifname ${env.MACHINE_NETWORK} accept`;
      const through = await letThrough('input', open, () => reachable(refused));
      // What other tests have on this host comes and goes.
      const thereAfter = await reachableFromHost(refused);
      expect(through).toEqual(expect.arrayContaining(there.filter((target) => thereAfter.includes(target))));
      expect([...there, ...thereAfter]).toEqual(expect.arrayContaining(through));
      expect(await reachable([...refused, allowed])).toEqual([allowed]);
    }, 90_000);

    test('neither a service nor another machine nor a private address is reached, by whatever way', async () => {
      const [{ ip }] = (await hosting.rows<{ ip: number }>('SELECT ip FROM app_addresses WHERE server_id = ?', [
        service.id,
      ])) as [{ ip: number }];
      const address = [24, 16, 8, 0].map((shift) => Math.floor(Number(ip) / 2 ** shift) % 256).join('.');
      const port = service.primaryAllocation.port;
      const gateway = hosting.berth.env.MACHINE_SUBNET!.split('/')[0]!;
      const [program, neighbour, allowed] = [`${address} ${port}`, `${two.ipv4} 22`, `${gateway} 53`];
      expect(await reachableFromHost([program, neighbour])).toEqual([program, neighbour]);
      expect(await reachable([program, neighbour, `${hosting.gateway} ${port}`, allowed])).toEqual([allowed]);
      const { MACHINE_NETWORK, APP_NETWORK } = hosting.berth.env;
      const open = `iifname ${MACHINE_NETWORK} oifname ${APP_NETWORK} accept`;
      expect(await letThrough('forward', open, () => reachable([program, neighbour]))).toEqual([program]);
      // By way of the host, which would hand packets from one machine to another.
      await inside(`ip route add ${two.ipv4}/32 via ${gateway}`);
      expect(await reachable([neighbour, allowed])).toEqual([allowed]);
      await inside(`ip route del ${two.ipv4}/32 via ${gateway}`);
      expect((await key.ssh(door, 'ping -c1 -W2 169.254.169.254')).code).not.toBe(0);
      expect((await key.ssh(door, `ping -c1 -W2 ${address}`)).code).not.toBe(0);
    }, 120_000);

    test("a neighbour's address, or a card's of one's own making, gets nothing through", async () => {
      const gateway = hosting.berth.env.MACHINE_SUBNET!.split('/')[0]!;
      const ping = (from: string): Promise<string> =>
        inside(`ping -c1 -W2 -I ${from} ${gateway} >/dev/null && echo answered || echo silence`);
      expect(await ping(one.ipv4)).toBe('answered');
      await inside(`ip addr add ${two.ipv4}/32 dev eth0`);
      expect(await ping(two.ipv4)).toBe('silence');
      await inside(`ip addr del ${two.ipv4}/32 dev eth0`);
      const changed = `ip link set eth0 address 00:16:3e:aa:bb:cc; ping -c1 -W2 ${gateway} >/dev/null && echo answered || echo silence`;
      const restored = `mac=$(cat /sys/class/net/eth0/address); ${changed}; ip link set eth0 address $mac`;
      expect(await inside(restored)).toBe('silence');
      expect(await ping(one.ipv4)).toBe('answered');
    }, 60_000);
  });

  test('a console shows what root does on it, and a reader may only watch', async () => {
    const open = async (api = account.api): Promise<WingsClient> => {
      const { token, socket } = (await api.get(`/lxc/${two.id}/console`)).expect(200).body as Record<
        'token' | 'socket',
        string
      >;
      const client = await WingsClient.connect(socket);
      client.send('auth', token);
      expect(await client.event('status')).toBe('running');
      return client;
    };
    const acting = await open();
    acting.send('send command', 'echo the-answer-is-$((40+2))');
    await until('the answer', () => acting.lines.some((line) => line.includes('the-answer-is-42')), 20_000);
    const watching = await open(account.readOnly);
    watching.send('send command', 'echo not-by-me');
    expect(await watching.event('daemon error')).toMatch(/only watches/);
    WingsClient.closeAll();
    const events = await hosting.rows<{ event: string }>(
      "SELECT event FROM activity_events WHERE resource_id = ? AND event LIKE 'lxc:console%'",
      [two.id],
    );
    expect(events.map(({ event }) => event)).toContain('lxc:console.command');
  }, 60_000);

  test('other limits hold at once, and what is used can be read', async () => {
    const { body } = (await account.api.patch(`/lxc/${one.id}/resources`, { ramMb: 768, diskGb: 3 })).expect(200);
    expect(body).toMatchObject({ ramMb: 768, diskGb: 3, cpu: 1, appliedLive: true });
    expect(await inside('fallocate -l 2100M /big && rm /big && echo fits')).toBe('fits');
    const usage = (await account.api.get(`/lxc/${one.id}/resources`)).expect(200).body;
    expect(usage.disk_bytes).toBeGreaterThan(10 * 2 ** 20);
    expect(usage.memory_bytes).toBeGreaterThan(2 ** 20);
    expect(usage.uptime_ms).toBeGreaterThan(0);
  });

  test('a snapshot brings the disk back, and neither the limits nor the ports of then', async () => {
    const { api } = account;
    await inside('echo before > /root/mark; sync');
    const made = (await api.post(`/lxc/${one.id}/snapshots`, { name: 'first' })).expect(201).body as {
      id: string;
      operationId: string;
    };
    expect((await ended(api, made.operationId)).body.status).toBe('DONE');
    await inside('echo after > /root/mark; sync');
    (await api.patch(`/lxc/${one.id}/resources`, { ramMb: 640 })).expect(200);
    const extra = await redirect(api, one.id, { targetPort: 22, protocol: 'tcp' });
    const { operationId } = (await api.post(`/lxc/${one.id}/snapshots/${made.id}/restore`)).expect(202).body as {
      operationId: string;
    };
    expect((await ended(api, operationId)).body.status).toBe('DONE');
    expect((await api.get(`/lxc/${one.id}`)).body.status).toBe('RUNNING');
    expect(await key.untilIn(extra, 'cat /root/mark')).toBe('before');
    expect(
      await inside('cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max'),
    ).toBe(String(640 * 2 ** 20));
    (await api.delete(`/lxc/${one.id}/snapshots/${made.id}`)).expect(204);
    await hosting.untilQuiet();
    expect((await api.get(`/lxc/${one.id}/snapshots`)).body).toEqual([]);
    expect(await hosting.engine.listSnapshots(one.id.replace('_', '-'))).toEqual([]);
  }, 120_000);

  test('switched off from inside it is STOPPED, and a start brings it back', async () => {
    await key.ssh(otherDoor, 'systemctl poweroff');
    await reachMachine(account.api, two.id, 'STOPPED');
    const { operationId } = (await account.api.post(`/lxc/${two.id}/power/start`)).expect(202).body as {
      operationId: string;
    };
    expect((await ended(account.api, operationId)).body.status).toBe('DONE');
    expect(await key.untilIn(otherDoor, 'echo back')).toBe('back');
  }, 120_000);

  test('stop shuts it down cleanly, restart brings up another run', async () => {
    const boot = await inside(
      'cat /proc/sys/kernel/random/boot_id; systemctl show --property=UserspaceTimestampMonotonic',
    );
    await inside(
      'printf "[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStop=/bin/touch /root/clean\\n" > /etc/systemd/system/mark.service; systemctl start mark',
    );
    const { operationId } = (await account.api.post(`/lxc/${one.id}/power/restart`)).expect(202).body as {
      operationId: string;
    };
    expect((await ended(account.api, operationId)).body.status).toBe('DONE');
    await key.untilIn(door);
    expect(await inside('ls /root/clean')).toBe('/root/clean');
    expect(boot).not.toBe('');
  }, 120_000);

  test('what is deleted leaves nothing, and its port is free again', async () => {
    (await account.api.delete(`/lxc/${two.id}`)).expect(204);
    (await account.api.get(`/lxc/${two.id}`)).expect(404);
    await hosting.untilQuiet();
    expect(await hosting.inEngine()).not.toContain(`instance ${two.id.replace('_', '-')}`);
    expect(await hosting.rows('SELECT id FROM machine_ports WHERE machine_id = ?', [two.id])).toEqual([]);
    expect(await hosting.rows('SELECT port FROM port_claims WHERE port = ?', [otherDoor.publicPort])).toEqual([]);
    const again = await redirect(account.api, one.id, {
      targetPort: 22,
      protocol: 'tcp',
      publicPort: otherDoor.publicPort,
    });
    expect(await key.untilIn(again, 'hostname')).toBe(one.id.replace('_', '-'));
  }, 60_000);
});

/** What comes back, null when nothing does for a while; each time by a socket of its own, as a program anew. */
async function echoed({ address, publicPort }: Redirection, text: string): Promise<string | null> {
  const socket = createSocket('udp4');
  try {
    const heard = once(socket, 'message', { signal: AbortSignal.timeout(500) }) as Promise<[Buffer]>;
    socket.send(text, publicPort, address);
    return String((await heard)[0]);
  } catch {
    return null;
  } finally {
    socket.close();
  }
}

function addressesOfHost(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address),
  );
}
