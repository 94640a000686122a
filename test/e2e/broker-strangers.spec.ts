import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { until } from '../support/until.js';
import type { BrokerClient } from './support/broker-client.js';
import { type Hosting, onEngine, powered } from './support/hosting.js';
import { OF_ONE, TwoTenants } from './support/two-tenants.js';

/**
 * Asks to be the neighbour on the link itself: claims its address in ARP, and opens a connection in its name by packets
 * made by hand. Prints the flags of the TCP answers that come.
 */
const FORGE = `
import socket, struct, sys, time, fcntl
source, gateway, gateway_mac, port, sender_mac = sys.argv[1:6]
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind(('eth0', 0))
own = fcntl.ioctl(link.fileno(), 0x8927, struct.pack('256s', b'eth0'))[18:24]
hexed = lambda text: bytes.fromhex(text.replace(':', ''))
sender = own if sender_mac == 'own' else hexed(sender_mac)
ip = socket.inet_aton
def checksum(data):
    data += b'\\0' * (len(data) % 2)
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16: total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
def arp(operation, target_mac, target):
    return target_mac + sender + b'\\x08\\x06' + struct.pack('!HHBBH', 1, 0x800, 6, 4, operation) + sender + ip(source) + target_mac + ip(target)
def syn(number):
    tcp = struct.pack('!HHIIBBHHH', 40000 + number, int(port), 1000, 0, 5 << 4, 2, 64240, 0, 0)
    pseudo = ip(source) + ip(gateway) + struct.pack('!BBH', 0, 6, len(tcp))
    tcp = tcp[:16] + struct.pack('!H', checksum(pseudo + tcp)) + tcp[18:]
    head = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0) + ip(source) + ip(gateway)
    head = head[:10] + struct.pack('!H', checksum(head)) + head[12:]
    return hexed(gateway_mac) + sender + b'\\x08\\x00' + head + tcp
link.settimeout(0.1)
flags = set()
until = time.time() + 2.5
number = 0
while time.time() < until:
    number += 1
    link.send(arp(2, hexed(gateway_mac), gateway))
    link.send(arp(1, b'\\xff' * 6, gateway))
    link.send(syn(number % 20000))
    try:
        for _ in range(20):
            frame = link.recv(2048)
            if frame[12:14] == b'\\x08\\x00' and frame[23] == 6 and frame[26:30] == ip(gateway) and frame[30:34] == ip(source):
                flags.add(frame[47])
    except socket.timeout:
        pass
print(' '.join(str(flag) for flag in sorted(flags)) or 'none')
`;

/** Takes an address as a second one of the container's, as its root may. */
const TAKE_ADDRESS = `
import fcntl, socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8916, struct.pack('16sH2s4s8s', b'eth0:1', socket.AF_INET, b'', socket.inet_aton(sys.argv[1]), b''))
`;

onEngine('strangers at the secrets broker', () => {
  let tenants: TwoTenants;
  let hosting: Hosting;
  let one: BrokerClient;
  let two: BrokerClient;

  beforeAll(async () => {
    tenants = await TwoTenants.start();
    hosting = tenants.hosting;
    [one, two] = [tenants.one.program, tenants.two.program];
  }, 180_000);
  afterAll(() => tenants?.close());

  describe('somebody who says to be another', () => {
    const bridgeMac = (): string =>
      readFileSync(`/sys/class/net/${hosting.berth.env.APP_NETWORK!}/address`, 'utf8').trim();

    /** TCP flags that come back to packets in the name of an address. */
    const forge = (source: string, mac = 'own'): Promise<string> =>
      one.pythonAsRoot(FORGE, source, hosting.gateway, bridgeMac(), '7458', mac);

    test('by an address that it gave itself', async () => {
      const victim = await two.address();
      await one.pythonAsRoot(TAKE_ADDRESS, victim);
      const { how, text } = await one.send(one.request('/v1/secrets'), { source: victim, seconds: 3 });
      expect(text).toBe('');
      expect(how).toMatch(/timeout|timed/i);
    });

    test('by packets made by hand, while the neighbour runs and after it has stopped', async () => {
      const victim = await two.address();
      const victimMac = (await two.run(['cat', '/sys/class/net/eth0/address'])).trim();
      // In its own name it works, so that what follows is no fault of the tool's.
      expect(await forge(await one.address())).toContain('18');
      expect(await forge(victim)).toBe('none');
      expect(await forge(victim, victimMac)).toBe('none');
      expect((await two.ask('/v1/health')).status).toBe(200);
      await powered(tenants.two.api, two.serverId, 'stop');
      expect(await forge(victim)).toBe('none');
      expect(await forge(victim, victimMac)).toBe('none');
      await powered(tenants.two.api, two.serverId, 'start');
      await until('its container', () =>
        two.run(['true']).then(
          () => true,
          () => false,
        ),
      );
      expect((await two.ask('/v1/health')).status).toBe(200);
    });
  });

  describe('somebody on another network', () => {
    const NAMESPACE = 'berth-stranger';
    const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
    const inside = (...command: string[]): string => ip('netns', 'exec', NAMESPACE, ...command);
    /** What a stranger gets, from a network of its own that is routed by this machine. */
    const curl = (url: string, ...more: string[]): string =>
      inside('sh', '-c', `curl -s -m 3 -w ' %{http_code}' "$@" || true`, 'curl', ...more, url).trim();

    beforeAll(() => {
      removeNamespace();
      ip('netns', 'add', NAMESPACE);
      ip('link', 'add', 'berthstr0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', NAMESPACE);
      ip('addr', 'add', '203.0.113.1/24', 'dev', 'berthstr0');
      ip('link', 'set', 'berthstr0', 'up');
      inside('ip', 'addr', 'add', '203.0.113.2/24', 'dev', 'eth0');
      inside('ip', 'link', 'set', 'eth0', 'up');
      inside('ip', 'link', 'set', 'lo', 'up');
      inside('ip', 'route', 'add', 'default', 'via', '203.0.113.1');
    });
    afterAll(removeNamespace);

    function removeNamespace(): void {
      try {
        execFileSync('ip', ['netns', 'del', NAMESPACE], { stdio: 'ignore' });
      } catch {
        // There is none.
      }
    }

    test('is nobody, also with the address of a service', async () => {
      expect(curl(`http://${hosting.gateway}:7458/v1/health`)).toBe('{"ok":false} 403');
      expect(curl(`http://${hosting.gateway}:7458/v1/secrets`)).toMatch(/unknown_caller.* 403$/s);
      const victim = await one.address();
      inside('ip', 'addr', 'add', `${victim}/32`, 'dev', 'lo');
      expect(curl(`http://${hosting.gateway}:7458/v1/secrets`, '--interface', victim)).toBe('000');
      for (const address of ['203.0.113.1', hosting.gateway.replace(/1$/, '0')])
        expect(curl(`http://${address}:7458/v1/health`)).toBe('000');
      await until('the line about it', () =>
        /a stranger called the secrets broker/.test(hosting.berth.process('broker').log()),
      );
    });

    test('nor is the machine itself, by whichever of its addresses', async () => {
      const answer = await fetch(`http://${hosting.gateway}:7458/v1/secrets`);
      expect(answer.status).toBe(403);
      for (const host of ['127.0.0.1', '203.0.113.1', '::1']) expect(await refusesConnection(host)).toBe(true);
    });

    test('programs do not reach it by another address either, IPv6 included', async () => {
      const bridge = hosting.berth.env.APP_NETWORK!;
      const [, local] = /inet6 (fe80[0-9a-f:]+)/.exec(ip('-6', 'addr', 'show', 'dev', bridge)) ?? [];
      const targets = ['203.0.113.1', hosting.berth.env.PUBLIC_ADDRESS!, ...(local ? [`${local}%eth0`] : [])];
      for (const host of targets) {
        const { text, how } = await one.send(one.request('/v1/health'), { host, seconds: 2 });
        expect([text, how]).toEqual(['', expect.not.stringMatching(/^ended/)]);
      }
    });

    test('with the packet filter, nobody but programs gets as far as the broker', async () => {
      const table = 'berth_e2e_gate';
      await hosting.berth.process('broker').stop();
      const gated = await hosting.add(['broker'], { FIREWALL: 'on', FIREWALL_TABLE: table });
      try {
        await until('services', () =>
          one.ask('/v1/health').then(
            ({ status }) => status === 200,
            () => false,
          ),
        );
        expect(await one.secrets()).toEqual(OF_ONE);
        expect(await refusesConnection(hosting.gateway)).toBe(true);
        expect(curl(`http://${hosting.gateway}:7458/v1/health`)).toBe('000');
        expect(await ttlOfAnswers()).toBe('1');
      } finally {
        await gated.stop();
        execFileSync('nft', ['delete', 'table', 'inet', `${table}_broker`]);
        await hosting.berth.process('broker').start();
        await until('services', () =>
          one.ask('/v1/health').then(
            ({ status }) => status === 200,
            () => false,
          ),
        );
      }
    });

    /** Time to live of the packets that a program gets from the broker. */
    function ttlOfAnswers(): Promise<string> {
      return one.pythonAsRoot(
        `
import socket, sys, threading
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind(('eth0', 0))
link.settimeout(3)
socket.create_connection((sys.argv[1], 7458), 3)
while True:
    frame = link.recv(2048)
    if frame[12:14] == b'\\x08\\x00' and frame[26:30] == socket.inet_aton(sys.argv[1]):
        print(frame[22])
        break`,
        hosting.gateway,
      );
    }
  });

  test('the signal that opens the inspector opens nothing', async () => {
    const broker = hosting.berth.process('broker');
    process.kill(broker.pid!, 'SIGUSR1');
    await until('word of it', () => broker.log().includes('SIGUSR1'));
    expect(broker.log()).not.toMatch(/Debugger listening/);
    expect(await one.secrets()).toEqual(OF_ONE);
  });
});

function refusesConnection(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port: 7458, timeout: 3000 });
    const end = (refused: boolean) => () => {
      socket.destroy();
      resolve(refused);
    };
    socket.on('connect', end(false));
    socket.on('error', end(true));
    socket.on('timeout', end(true));
  });
}
