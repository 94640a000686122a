import { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import type { ServedRead } from '../platform/internal-api/vault-reads.contract.js';
import { createLogger } from '../platform/observability/logger.js';
import { until } from '../../test/support/until.js';
import { VaultControlPlane } from '../../test/support/vault-control-plane.js';
import { BrokerSettings } from './broker-settings.js';
import type { Caller } from './caller.js';
import { LastServed } from './last-served.js';
import { SecretReads } from './secret-reads.service.js';
import { ServedLedger } from './served-ledger.js';

const lines: string[] = [];
const log = createLogger({ logLevel: 'trace' }, { write: (line: string) => void lines.push(line) });

let plane: VaultControlPlane;
let reads: SecretReads;

function readsWith({ perMinute = 100_000, offlineSeconds = 600 } = {}): SecretReads {
  const settings = new BrokerSettings('10.9.0.1', 7458, perMinute, offlineSeconds);
  return new SecretReads(settings, log, new InternalApiClient(plane.url, 'node-token'));
}

function caller(serverId: string, startedAt = 1): Caller {
  return { serverId, instance: serverId, address: '10.9.0.2', startedAt, ended: false, lastServed: null };
}

/** What a program would be answered. */
async function read(who: Caller, from = reads): Promise<Record<string, string>> {
  const secrets = await from.read(who);
  const values = JSON.parse(secrets.json.bytes.toString()) as Record<string, string>;
  secrets.release();
  return values;
}

beforeEach(async () => {
  plane = await VaultControlPlane.start();
  plane.give('srv_a', { A: 'canary-a', B: '"\\\n\u2028é' });
  plane.give('srv_b', { A: 'canary-b' });
  reads = readsWith();
});
afterEach(async () => {
  plane.letGo();
  plane.fault = null;
  await plane.back();
  await reads.close();
  await plane.away();
  expect(lines.join('')).not.toContain('canary');
});

describe('with the control plane there', () => {
  test('each service gets its own secrets, to the letter, with the token of the node', async () => {
    expect(await read(caller('srv_a'))).toEqual({ A: 'canary-a', B: '"\\\n\u2028é' });
    expect(await read(caller('srv_b'))).toEqual({ A: 'canary-b' });
    expect([...plane.tokens]).toEqual(['Bearer node-token']);
    const [one] = plane.of('srv_a');
    expect(one).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      serverId: 'srv_a',
      address: '10.9.0.2',
      at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      refused: null,
    });
  });

  test('what is asked for at the same moment goes in one request, and each read is recorded', async () => {
    const callers = Array.from({ length: 200 }, (_, index) => caller(index % 2 ? 'srv_a' : 'srv_b'));
    const answers = await Promise.all(callers.map((one) => read(one)));
    expect(answers.every(({ A }, index) => A === (index % 2 ? 'canary-a' : 'canary-b'))).toBe(true);
    expect(plane.groups).toEqual([200]);
    expect(plane.recorded.size).toBe(200);
  });

  test('what a run holds already does not travel again until it changes, and each read is recorded all the same', async () => {
    const [one, next] = [caller('srv_a'), caller('srv_a', 2)];
    await read(one);
    for (let count = 0; count < 5; count++) expect(await read(one)).toMatchObject({ A: 'canary-a' });
    expect([plane.unchanged, plane.of('srv_a').length]).toEqual([5, 6]);
    // Another run holds nothing yet, and who asks beside it is given the same as it.
    const [a, b] = await Promise.all([read(one), read(next)]);
    expect([a, plane.unchanged]).toEqual([b, 5]);
    plane.give('srv_a', { A: 'canary-new' });
    expect(await read(one)).toEqual({ A: 'canary-new' });
    expect(await read(one)).toEqual({ A: 'canary-new' });
    expect([plane.unchanged, plane.of('srv_a').length]).toEqual([6, 10]);
  });

  test('what is held is not overwritten while it is asked for, though the run ends meanwhile', async () => {
    const one = caller('srv_a');
    await read(one);
    plane.hold();
    const late = reads.read(one);
    one.ended = true;
    one.lastServed!.release();
    plane.letGo();
    const { json } = await late;
    expect(json.bytes.toString()).toContain('canary-a');
    json.release();
    expect(json.bytes.every((byte) => byte === 0)).toBe(true);
  });

  test('a request takes no more reads and services than it should', async () => {
    for (let service = 0; service < 40; service++) plane.give(`srv_${service}`, { A: String(service) });
    plane.hold();
    const many = Array.from({ length: 1200 }, () => read(caller('srv_a')));
    const others = Array.from({ length: 40 }, (_, service) => read(caller(`srv_${service}`)));
    plane.letGo();
    await Promise.all(many);
    expect((await Promise.all(others)).map(({ A }) => A)).toEqual(Array.from({ length: 40 }, (_, one) => String(one)));
    expect(Math.max(...plane.groups)).toBe(500);
    expect(plane.recorded.size).toBe(1240);
  });

  test('what was put off is asked for alone, recorded once, and nobody waits for it who asked for something else', async () => {
    const ids = Array.from({ length: 6 }, (_, n) => `srv_large_${n}`);
    for (const id of ids) {
      plane.give(id, { A: id });
      plane.large.add(id);
    }
    const wanted = [...ids, 'srv_a', ...ids];
    const order: string[] = [];
    const answers = await Promise.all(
      wanted.map((id) =>
        read(caller(id)).then(({ A }) => {
          order.push(id);
          return A;
        }),
      ),
    );
    expect(answers).toEqual(wanted.map((id) => (id === 'srv_a' ? 'canary-a' : id)));
    expect(order[0]).toBe('srv_a');
    expect(plane.groups).toEqual([13, 2, 2, 2, 2, 2, 2]);
    expect(plane.recorded.size).toBe(13);
  });

  test('a service that cannot be opened at the moment keeps what it holds, and the others are served', async () => {
    const [one, other] = [caller('srv_a'), caller('srv_b')];
    await read(one);
    const { lastServed } = one;
    plane.answers.set('srv_a', { refused: 'unavailable' });
    const failed = reads.read(one);
    const served = read(other);
    await expect(failed).rejects.toMatchObject({ code: 'vault_unavailable', extra: { retryAfterSeconds: 2 } });
    expect([await served, one.lastServed]).toEqual([{ A: 'canary-b' }, lastServed]);
    expect(plane.groups).toEqual([1, 2]);
  });

  test('nothing is answered before the control plane has recorded it', async () => {
    plane.hold();
    let answered = false;
    const answer = read(caller('srv_a')).then((values) => {
      answered = true;
      return values;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([answered, plane.recorded.size]).toEqual([false, 0]);
    plane.letGo();
    await answer;
    expect(plane.recorded.size).toBe(1);
  });

  test.each([
    [{ refused: 'unknown' as const }, { kind: 'forbidden', code: 'unknown_caller' }],
    [{ refused: 'suspended' as const }, { kind: 'forbidden', code: 'suspended' }],
    [
      { refused: 'integrity' as const, incident: 'inc_1' },
      { kind: 'unavailable', code: 'vault_integrity', extra: { members: { incident: 'inc_1' } } },
    ],
  ])('its refusal is final, also while it is away: %j', async (answer, expected) => {
    const one = caller('srv_a');
    await read(one);
    plane.answers.set('srv_a', answer);
    await expect(reads.read(one)).rejects.toMatchObject(expected);
    await plane.away();
    await expect(reads.read(one)).rejects.toMatchObject({ kind: 'unavailable', code: 'vault_unavailable' });
  });

  test('a control plane that refuses the node is not one that is away', async () => {
    const one = caller('srv_a');
    await read(one);
    plane.fault = 401;
    await expect(reads.read(one)).rejects.toMatchObject({ kind: 'unavailable', extra: { retryAfterSeconds: 2 } });
    plane.fault = null;
    expect(await read(one)).toMatchObject({ A: 'canary-a' });
  });

  test('a service is held to its reads a minute, and others are not', async () => {
    const strict = readsWith({ perMinute: 3 });
    const one = caller('srv_a');
    for (let count = 0; count < 3; count++) await read(one, strict);
    const late = strict.read(one);
    await expect(late).rejects.toMatchObject({ kind: 'rate_limited' });
    const wait = await late.catch((error: { extra: { retryAfterSeconds: number } }) => error.extra.retryAfterSeconds);
    expect(wait).toBeGreaterThan(50);
    expect(await read(caller('srv_b'), strict)).toEqual({ A: 'canary-b' });
    await until('its refusal in the log', () => plane.of('srv_a').length === 4);
    expect(plane.of('srv_a').at(-1)).toMatchObject({ refused: 'rate_limited' });
  });

  test('refused reads are put into the log, a bounded number of them', async () => {
    for (let count = 0; count < 200; count++) reads.refused(caller('srv_a'), 'forwarded');
    await until('them', () => plane.of('srv_a').length === 30);
    await read(caller('srv_a'));
    expect(plane.of('srv_a')).toHaveLength(31);
  });
});

describe('bytes in memory', () => {
  test('are overwritten once nobody holds them', async () => {
    const one = caller('srv_a');
    const [first, second] = await Promise.all([reads.read(one), reads.read(one)]);
    expect(first.json).toBe(second.json);
    first.release();
    second.release();
    expect(first.json.bytes.toString()).toContain('canary-a');
    plane.give('srv_a', { A: 'canary-new' });
    const next = await reads.read(one);
    expect(first.json.bytes.every((byte) => byte === 0)).toBe(true);
    next.release();
    one.lastServed!.release();
    expect(next.json.bytes.every((byte) => byte === 0)).toBe(true);
  });

  test('are bounded: of many that are very large some are not kept, and what is small is', async () => {
    // Each of these characters is six in JSON.
    const value = '\u0001'.repeat(2 * 1024 * 1024);
    const large = Array.from({ length: 6 }, (_, number) => caller(`srv_large_${number}`));
    for (const one of large) {
      plane.give(one.serverId, { A: value });
      expect((await read(one)).A).toHaveLength(value.length);
    }
    const kept = large.filter(({ lastServed }) => lastServed !== null);
    expect(kept).toHaveLength(3);
    const small = caller('srv_a');
    await read(small);
    expect(small.lastServed).not.toBeNull();
    // What is given up leaves its room to the next.
    kept[0]!.lastServed!.release();
    kept[0]!.lastServed = null;
    await read(large[5]!);
    expect(large[5]!.lastServed).not.toBeNull();
  });

  test('as lines of a .env file, too', () => {
    const secrets = LastServed.from({
      state: 'one',
      secrets: [
        { key: 'A', value: 'a b' },
        { key: 'B', value: `'"$x` },
      ],
    });
    const { lines: text, nonportable } = secrets.env();
    expect(text.bytes.toString()).toMatch(/^A='a b'\nB="/);
    expect(nonportable).toEqual(['B']);
    text.release();
    expect(text.bytes.every((byte) => byte === 0)).toBe(true);
    expect(secrets.json.bytes.toString()).toContain('a b');
  });
});

describe.each(['nothing listens', '500', '503', 'the connection breaks'])('with the control plane away: %s', (how) => {
  async function leave(): Promise<void> {
    if (how === 'nothing listens') await plane.away();
    else plane.fault = how === 'the connection breaks' ? 'cut' : Number(how);
  }

  async function comeBack(): Promise<void> {
    plane.fault = null;
    await plane.back();
  }

  test('a run is served what it was served last, and every read is recorded once when it is back', async () => {
    const [a, b] = [caller('srv_a'), caller('srv_b')];
    await read(a);
    await leave();
    for (let count = 0; count < 20; count++) expect(await read(a)).toMatchObject({ A: 'canary-a' });
    await expect(reads.read(b)).rejects.toMatchObject({ code: 'vault_unavailable', extra: { retryAfterSeconds: 2 } });
    await expect(reads.read(caller('srv_a', 2))).rejects.toMatchObject({ code: 'vault_unavailable' });
    await comeBack();
    await until(
      'the reads',
      () => plane.of('srv_a').filter((one) => 'keys' in one).length >= (how === 'the connection breaks' ? 1 : 20),
    );
    await until('all of them', () => plane.of('srv_a').length >= 21);
    const kept = plane.of('srv_a').filter((one): one is ServedRead => 'keys' in one);
    expect(kept.every(({ keys }) => keys.join() === 'A,B')).toBe(true);
    expect(new Set(plane.of('srv_a').map(({ id }) => id)).size).toBe(plane.of('srv_a').length);
    await until('answers of the control plane', () => read(b).catch(() => null));
  });
});

describe('the time for which it may be away', () => {
  test('over, nothing is served from memory, and what was there is wiped', async () => {
    const short = readsWith({ offlineSeconds: 1 });
    const one = caller('srv_a');
    await read(one, short);
    const { bytes } = one.lastServed!.json;
    await plane.away();
    expect(await read(one, short)).toMatchObject({ A: 'canary-a' });
    await until('the end of it', () =>
      read(one, short).then(
        () => false,
        () => true,
      ),
    );
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    expect(one.lastServed).toBeNull();
    await plane.back();
    await until('it is served again', () => read(one, short).catch(() => null));
    await short.close();
  });

  test('none at all: the setting is 0', async () => {
    const never = readsWith({ offlineSeconds: 0 });
    const one = caller('srv_a');
    await read(one, never);
    await plane.away();
    await expect(never.read(one)).rejects.toMatchObject({ code: 'vault_unavailable' });
  });

  test('a silent one is given up on, and the next callers are not kept waiting', async () => {
    const one = caller('srv_a');
    await read(one);
    plane.fault = 'silence';
    expect(await read(one)).toMatchObject({ A: 'canary-a' });
    const began = performance.now();
    await read(one);
    expect(performance.now() - began).toBeLessThan(1000);
  }, 20_000);
});

describe('the ledger of what was served', () => {
  const record = (id: number, keys = ['A'], serverId = 'srv_a'): ServedRead => ({
    id: String(id),
    serverId,
    address: '10.9.0.2',
    at: new Date().toISOString(),
    refused: null,
    keys,
  });

  test('takes no more than it has room for, so that nothing is served without a record', async () => {
    const ledger = new ServedLedger(new InternalApiClient(plane.url, 't'), log, () => {}, 3);
    await plane.away();
    const added = [1, 2, 3, 4].map((id) => ledger.add(record(id, ['A'], `srv_${id}`)));
    expect(added).toEqual([true, true, true, false]);
    await plane.back();
    await ledger.handIn();
    expect([...plane.recorded.keys()]).toEqual(['1', '2', '3']);
    expect(ledger.add(record(5))).toBe(true);
    await ledger.close();
    expect(plane.recorded.size).toBe(4);
  });

  test('lets no service have so much of it that the others have none', async () => {
    const ledger = new ServedLedger(new InternalApiClient(plane.url, 't'), log, () => {}, 1000);
    await plane.away();
    let id = 0;
    const fill = (serverId: string): number => {
      const before = id;
      while (ledger.add(record(id, ['A'], serverId))) id++;
      return id - before;
    };
    expect(fill('srv_a')).toBe(91);
    expect(fill('srv_a')).toBe(0);
    for (let n = 0; n < 50; n++) expect(fill(`srv_${n}`)).toBeGreaterThan(0);
    expect(fill('srv_b')).toBeGreaterThan(0);
    await plane.back();
    await ledger.handIn();
    expect(plane.recorded.size).toBe(id);
    expect(fill('srv_a')).toBe(91);
    await ledger.close();
  });

  test('hands in as much at once as a request may hold', async () => {
    const ledger = new ServedLedger(new InternalApiClient(plane.url, 't'), log, () => {});
    const names = Array.from({ length: 200 }, (_, index) => `${'K'.repeat(120)}${index}`);
    plane.hold();
    for (let id = 0; id < 100; id++) ledger.add(record(id, names));
    for (let id = 100; id < 1300; id++) ledger.add(record(id));
    plane.letGo();
    await ledger.handIn();
    expect(plane.recorded.size).toBe(1300);
    expect(plane.groups[0]).toBe(10);
    expect(Math.max(...plane.groups)).toBe(500);
  });

  test('keeps what was recorded but not confirmed, under the same ids', async () => {
    const ledger = new ServedLedger(new InternalApiClient(plane.url, 't'), log, () => {});
    plane.fault = 'cut';
    ledger.add(record(1));
    await ledger.handIn();
    expect([plane.recorded.size, ledger.size]).toEqual([1, 1]);
    plane.fault = null;
    await ledger.handIn();
    expect([plane.recorded.size, ledger.size]).toEqual([1, 0]);
  });
});
