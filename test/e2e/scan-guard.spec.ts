import { startBerth, type Berth, type TestAccount } from '../support/app.js';
import type { Answer } from '../support/api.js';
import { ClosedNetwork } from '../support/closed-network.js';
import { freePort } from '../support/free-ports.js';
import { setLimits } from '../support/own-plan.js';
import { stack } from '../support/stack.js';
import { onEngine } from './support/hosting.js';

const PUBLIC = '93.184.215.14';
/** Public by its number, but the platform's own. */
const OURS = '198.97.38.7';
const METADATA = '169.254.169.254';
const BROKER = stack.env().APP_SUBNET!.split('/')[0]!;
const BROKER_PORT = 7458;

/** Where scans must not get, and the address that somebody who connects there is seen at. */
const TARGETS: [host: string, seenAt: string][] = [
  ...[METADATA, '169.254.1.1', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '198.18.0.1', '240.0.0.1'],
  ...['168.63.129.16', '127.0.0.1', '127.8.8.8', BROKER, OURS],
].map((host): [string, string] => [host, host]);
TARGETS.push(
  ...([
    ['2852039166', METADATA],
    ['0xa9fea9fe', METADATA],
    ['[::ffff:169.254.169.254]', METADATA],
    ['0.0.0.0', '127.0.0.1'],
    ['localhost', '127.0.0.1'],
    ['[::1]', '::1'],
    ['[::]', '::1'],
    ['[fd00:ec2::254]', 'fd00:ec2::254'],
    ['[fc00::1]', 'fc00::1'],
    ['[64:ff9b::a9fe:a9fe]', '64:ff9b::a9fe:a9fe'],
    ['[2002:a9fe:a9fe::1]', '2002:a9fe:a9fe::1'],
  ] as [string, string][]),
);

/**
 * The api with its guard, real sockets and nothing between, where a guard that fails does no harm: in a network that nothing
 * leads out of, and in which every address answers.
 */
onEngine('a scanner in a closed network (S-07)', () => {
  let network: ClosedNetwork;
  let berth: Berth;
  let accounts: TestAccount[];

  beforeAll(async () => {
    const dnsPort = await freePort();
    network = new ClosedNetwork({ countedPorts: [80, 443, BROKER_PORT], dnsPort });
    const portOf = (url: string): number => Number(new URL(url).port);
    berth = await startBerth({
      roles: ['api'],
      databaseHost: false,
      env: { SCAN_ALLOW_ADDRESSES: '', PUBLIC_ADDRESS: `127.0.0.1,${OURS}`, DNS_SERVERS: `127.0.0.1:${dnsPort}` },
      launcher: async ({ DATABASE_URL, REDIS_URL, PORT }) => {
        await network.open({ out: [portOf(DATABASE_URL!), portOf(REDIS_URL!)], into: [Number(PORT)] });
        return network.launcher;
      },
    });
    accounts = await Promise.all(Array.from({ length: 10 }, () => berth.makeAccount()));
    for (const account of accounts) await setLimits(berth, account, { scans: 1000 });
  });
  afterAll(async () => {
    await berth?.close();
    await network?.close();
  });

  const scan = (url: string, pages = 1, account = accounts[0]!): Promise<Answer> =>
    account.api.post('/seo/scan', { url, pages });

  /** As the name server of the network reads it. */
  const label = (address: string): string => address.replaceAll('.', '-');

  /** Does the work and tells what arrived meanwhile, and where. */
  async function arriving(work: () => Promise<unknown>): Promise<Record<string, number>> {
    const before = await network.arrived();
    await work();
    const after = await network.arrived();
    const grown = Object.entries(after).map(([at, count]): [string, number] => [at, count - (before[at] ?? 0)]);
    return Object.fromEntries(grown.filter(([, count]) => count > 0));
  }

  /** As many at once as a process takes: each refusal is made to take its time. */
  async function refused(urls: string[], code = 'address_refused'): Promise<void> {
    const waiting = [...urls];
    const answers: [string, unknown][] = [];
    const lane = async (account: TestAccount): Promise<void> => {
      for (let url; (url = waiting.shift());) answers.push([url, (await scan(url, 1, account)).body.code]);
    };
    await Promise.all(accounts.map(lane));
    expect(answers.sort()).toEqual(urls.map((url) => [url, code]).sort());
  }

  test('whoever asks without a guard gets everywhere, and is counted there', async () => {
    for (const [, address] of TARGETS) {
      for (const port of [80, 443, BROKER_PORT]) {
        const arrived = await arriving(async () => expect(await network.knock(address, port)).toBe('connected'));
        expect(arrived).toEqual({ [`${address} ${port}`]: 1 });
      }
    }
  });

  test('the scanner gets to a public address, and is counted there', async () => {
    const arrived = await arriving(async () => (await scan(`http://${PUBLIC}/`)).expect(201));
    expect(arrived).toEqual({ [`${PUBLIC} 80`]: 2 });
    expect(await arriving(() => refused([`https://${PUBLIC}/`], 'tls_error'))).toEqual({ [`${PUBLIC} 443`]: 1 });
  });

  test('no connection of the scanner gets anywhere else: by address', async () => {
    const arrived = await arriving(async () => {
      await refused(TARGETS.flatMap(([host]) => [`http://${host}/latest/meta-data/`, `https://${host}/`]));
      await refused(
        TARGETS.map(([host]) => `http://${host}:${BROKER_PORT}/v1/secrets`),
        'port_refused',
      );
    });
    expect(arrived).toEqual({});
  });

  test('by a redirect', async () => {
    const through = (to: string): string => `http://${PUBLIC}/to/${encodeURIComponent(to)}`;
    const arrived = await arriving(async () => {
      await refused(TARGETS.map(([host]) => through(`http://${host}/`)));
      await refused([through(`http://${BROKER}:${BROKER_PORT}/`)], 'port_refused');
    });
    expect(arrived).toEqual({ [`${PUBLIC} 80`]: TARGETS.length + 1 });
  });

  test('by a link, of which is said that it leads nowhere', async () => {
    const links = [`http://${METADATA}/`, `https://${BROKER}/`, `http://${label(METADATA)}.test/`];
    const arrived = await arriving(async () => {
      const { site } = (await scan(`http://${PUBLIC}/naming/${encodeURIComponent(links.join(' '))}`, 2)).expect(
        201,
      ).body;
      const { findings } = site.find(({ id }: { id: string }) => id === 'broken-links');
      const reasons = findings.map(({ reason }: { reason: string }) => reason);
      expect(reasons).toEqual(links.map((href) => `${href} leads to no address of the public internet.`));
    });
    expect(Object.keys(arrived)).toEqual([`${PUBLIC} 80`]);
  });

  test('by a name that leads there, alone or among others', async () => {
    const names = [METADATA, BROKER, OURS, '127.0.0.1', '10.0.0.1']
      .map(label)
      .flatMap((address) => [address, `${label(PUBLIC)}and${address}`]);
    expect(await arriving(() => refused(names.map((name) => `http://${name}.test/`)))).toEqual({});
  });

  test('by a name that leads there only once it was found to be public', async () => {
    const arrived = await arriving(async () => {
      const report = (await scan(`http://${label(PUBLIC)}.${label(METADATA)}.test/`, 5)).expect(201).body as {
        pages: unknown[];
      };
      expect(report.pages).toHaveLength(1);
    });
    expect(arrived).toEqual({ [`${PUBLIC} 80`]: 1 });
  });

  test('refusals of many accounts at once took nothing of their plans', async () => {
    for (const { api } of accounts.slice(1)) expect((await api.get('/seo/quota')).expect(200).body.used).toBe(0);
  });
});
