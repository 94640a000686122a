import { randomUUID } from 'node:crypto';
import { VaultKeys } from '../../../src/modules/vault/keys/vault-keys.service.js';
import { NodeReads } from '../../../src/modules/vault/reads/node-reads.service.js';
import { ScopeLoader } from '../../../src/modules/vault/store/scope-loader.service.js';
import { MAX_VALUE_BYTES } from '../../../src/modules/vault/vault-rules.js';
import type { VaultRead, VaultReadsAnswer } from '../../../src/platform/internal-api/vault-reads.contract.js';
import { VaultApp } from './vault-app.js';

jest.setTimeout(60_000);

/** What a node asks for several services at once: none of them is to be in the way of the others. */

/** Each byte takes six of JSON. */
const WORST = '\u0001'.repeat(MAX_VALUE_BYTES);
const MOST_BYTES = 8 * 1024 * 1024;

let app: VaultApp;
let nodeId: string;
let addresses = 0;

beforeAll(async () => {
  app = await VaultApp.start();
  nodeId = String((await app.query('SELECT id FROM nodes'))[0]!['id']);
});
afterAll(() => app?.close());
afterEach(async () => {
  jest.restoreAllMocks();
  await app.query('DELETE FROM vault_reads');
});

async function makeReader(values: Record<string, string>): Promise<VaultRead> {
  const serverId = await app.makeServer();
  const address = `10.158.7.${++addresses}`;
  await app.query('INSERT INTO app_addresses (network, ip, server_id) VALUES (?, INET_ATON(?), ?)', [
    'berth0',
    address,
    serverId,
  ]);
  for (const [key, value] of Object.entries(values)) await app.put(serverId, key, value);
  return { id: randomUUID(), serverId, address, at: new Date().toISOString(), refused: null };
}

function makeLarge(): Promise<VaultRead> {
  return makeReader(Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`K${n}`, WORST])));
}

async function ask(reads: VaultRead[], holds: Record<string, string> = {}): Promise<VaultReadsAnswer['services']> {
  return (await app.api.get(NodeReads).answer(nodeId, reads, holds)).services;
}

function secretsIn(answer: VaultReadsAnswer['services'][string] | undefined): number {
  return answer && 'secrets' in answer ? answer.secrets.length : 0;
}

async function recorded(): Promise<string[]> {
  return (await app.query('SELECT read_id AS id FROM vault_reads')).map(({ id }) => String(id)).sort();
}

test('an answer stays small: the largest are put off unrecorded, and given when they are asked for alone', async () => {
  const large = [await makeLarge(), await makeLarge(), await makeLarge()];
  const small = await makeReader({ A: '1' });
  const reads = [...large, small, { ...large[2]!, id: randomUUID(), refused: 'forwarded' }];
  const services = await ask(reads);
  expect(Buffer.byteLength(JSON.stringify(services))).toBeLessThan(MOST_BYTES);
  expect(services[small.serverId]).toMatchObject({ secrets: [{ key: 'A', value: '1' }] });
  const putOff = large.filter(({ serverId }) => 'putOff' in services[serverId]!);
  expect(putOff).toHaveLength(1);
  const ids = reads.filter((read) => !putOff.includes(read)).map(({ id }) => id);
  expect(await recorded()).toEqual(ids.sort());

  const { [putOff[0]!.serverId]: given } = await ask(putOff);
  expect(secretsIn(given)).toBe(17);
  expect(await recorded()).toEqual([...ids, putOff[0]!.id].sort());

  const states = Object.entries({ ...services, [putOff[0]!.serverId]: given! }).map(([id, answer]) => [
    id,
    (answer as { state: string }).state,
  ]);
  const again = await ask([...large, small], Object.fromEntries(states) as Record<string, string>);
  expect(Object.values(again)).toEqual(Array.from({ length: 4 }, () => ({ unchanged: true })));
});

test('a service whose key cannot be had is refused by itself; the others are served, and their values overwritten then', async () => {
  const [broken, whole] = [await makeReader({ A: '1' }), await makeReader({ A: '2' })];
  const opened: Buffer[] = [];
  const loader = app.api.get(ScopeLoader);
  const open = loader.open.bind(loader);
  jest.spyOn(loader, 'open').mockImplementation(async (scope, row) => {
    const value = await open(scope, row);
    opened.push(value);
    return value;
  });
  const keys = app.api.get(VaultKeys);
  const seed = keys.seed.bind(keys);
  jest
    .spyOn(keys, 'seed')
    .mockImplementation((wrapped) =>
      wrapped.scope.includes(broken.serverId) ? Promise.reject(new Error('no answer')) : seed(wrapped),
    );
  const services = await ask([broken, whole]);
  expect(services[broken.serverId]).toEqual({ refused: 'unavailable' });
  expect(services[whole.serverId]).toMatchObject({ secrets: [{ key: 'A', value: '2' }] });
  expect(opened).toEqual([Buffer.alloc(1)]);
  const [record] = await app.query('SELECT refused FROM vault_reads WHERE read_id = ?', [broken.id]);
  expect(record).toEqual({ refused: 'unavailable' });
});

test('one service alone is given all it has, however much that is', async () => {
  const values = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`K${n}`, WORST]));
  const full = await makeReader(values);
  for (let n = 0; n < 16; n++) await app.put(null, `ALL_${n}`, WORST);
  const { [full.serverId]: answer } = await ask([full]);
  expect(secretsIn(answer)).toBe(48);
});
