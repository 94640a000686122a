import { AddressLock } from '../../../src/modules/vault/tokens/address-lock.service.js';
import { ReadLog } from '../../../src/modules/vault/reads/read-log.service.js';
import { TokenReads } from '../../../src/modules/vault/reads/token-reads.service.js';
import { VaultTokens } from '../../../src/modules/vault/tokens/vault-tokens.service.js';
import type { OpenedSecrets } from '../../../src/modules/vault/store/opened-secrets.js';
import { SecretsReader } from '../../../src/modules/vault/store/secrets-reader.service.js';
import { VaultApp } from './vault-app.js';

jest.setTimeout(60_000);

let app: VaultApp;
let id: string;
let token: string;

beforeAll(async () => (app = await VaultApp.start()));
afterAll(() => app?.close());

beforeEach(async () => {
  id = await app.makeServer();
  await app.put(id, 'A', '1');
  token = (await app.api.get(VaultTokens).replace(app.caller, id, true)).token;
  jest.spyOn(app.api.get(AddressLock), 'allows').mockImplementation(async (address) => address === '192.0.2.1');
});
afterEach(() => jest.restoreAllMocks());

async function read(address = '192.0.2.1'): Promise<string[]> {
  const reads = app.api.get(TokenReads);
  const holder = await reads.admit(`Bearer ${token}`, address);
  const opened = await reads.open(holder, address, { weigh: () => undefined });
  opened.release();
  return opened.keys;
}

async function recorded(): Promise<number> {
  const [row] = await app.query('SELECT COUNT(*) AS n FROM vault_reads WHERE server_id = ?', [id]);
  return Number(row!['n']);
}

test('V-18: every read that is served has its record, whatever the load', async () => {
  const answers = await Promise.all(Array.from({ length: 500 }, () => read()));
  expect(answers.every((keys) => keys.join() === 'A')).toBe(true);
  expect(await recorded()).toBe(500);
});

test('V-18: what cannot be recorded is not served; when it can again, it is', async () => {
  await app.query('RENAME TABLE vault_reads TO vault_reads_away');
  try {
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => read()));
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true);
  } finally {
    await app.query('RENAME TABLE vault_reads_away TO vault_reads');
  }
  expect(await recorded()).toBe(0);
  expect(await read()).toEqual(['A']);
  expect(await recorded()).toBe(1);
});

test('what there is no room for is neither served nor recorded as if it were, and wiped', async () => {
  const full = new Error('no room');
  const reads = app.api.get(TokenReads);
  const holder = await reads.admit(`Bearer ${token}`, '192.0.2.1');
  const opening = jest.spyOn(app.api.get(SecretsReader), 'of');
  const weigh = jest.fn().mockImplementation(() => {
    throw full;
  });
  await expect(reads.open(holder, '192.0.2.1', { weigh })).rejects.toBe(full);
  expect(weigh).toHaveBeenCalledWith(1);
  const { secrets } = (await opening.mock.results[0]!.value) as OpenedSecrets;
  expect(secrets.map(({ value }) => [...value])).toEqual([[0]]);
  expect(await recorded()).toBe(0);
});

test('refusals of one address get sixty records a minute, the rest are counted in one', async () => {
  const refused = { code: 'address_lock' };
  await Promise.all(Array.from({ length: 200 }, () => expect(read('198.51.100.7')).rejects.toMatchObject(refused)));
  expect(await recorded()).toBe(60);
  await expect(read('198.51.100.8')).rejects.toMatchObject(refused);
  expect(await recorded()).toBe(61);
  await app.api.get(ReadLog).beforeApplicationShutdown();
  expect(await recorded()).toBe(62);
  const [latest, counted] = await app.vault.access(app.caller, id);
  expect(latest).toMatchObject({ address: '198.51.100.8', refused: true, reason: 'address_lock', keys: [] });
  expect(counted).toMatchObject({
    address: '198.51.100.7',
    refused: true,
    reason: 'address_lock, 140 times',
    keys: [],
  });
  expect(await read()).toEqual(['A']);
});

test('the last fifty are shown, the newest first', async () => {
  for (let n = 0; n < 60; n++) await read();
  const shown = await app.vault.access(app.caller, id);
  expect(shown).toHaveLength(50);
  const times = shown.map(({ at }) => at.getTime());
  expect([...times].sort((a, b) => b - a)).toEqual(times);
});

test('a service deleted in the middle takes nobody else’s read along', async () => {
  const log = app.api.get(ReadLog);
  const of = (serverId: string) => ({
    serverId,
    via: 'token' as const,
    accountId: app.caller.accountId,
    address: '192.0.2.1',
    refused: null,
    keys: ['A'],
  });
  await Promise.all([
    log.record(of(id)),
    log.record(of('srv_00000000000000000000000000')).catch(() => undefined),
    log.record(of(id)),
  ]);
  expect(await recorded()).toBe(2);
});
