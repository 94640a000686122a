import { createHash } from 'node:crypto';
import { VaultKeyLists1763640080545 } from '../../../migrations/1763640080545-vault-key-lists.js';
import { KeyLists } from '../../../src/modules/vault/reads/key-lists.service.js';
import { ReadLogCleanerWorker } from '../../../src/modules/vault/reads/read-log-cleaner.worker.js';
import { ReadLog } from '../../../src/modules/vault/reads/read-log.service.js';
import { Database } from '../../../src/platform/database/database.js';
import { AppLogger } from '../../../src/platform/observability/logger.js';
import type { DomainError } from '../../../src/platform/errors/domain-error.js';
import { VaultApp } from './vault-app.js';

jest.setTimeout(60_000);

const DAY_MS = 86_400_000;
const MANY = Array.from({ length: 200 }, (_, index) => `K${index}`.padEnd(128, 'X')).sort();

let app: VaultApp;
let id: string;
let cleaner: ReadLogCleanerWorker;

beforeAll(async () => {
  app = await VaultApp.start();
  cleaner = new ReadLogCleanerWorker(app.api.get(Database), app.api.get(AppLogger));
});
afterAll(() => app?.close());
beforeEach(async () => {
  await app.query('DELETE FROM vault_reads');
  await app.query('DELETE FROM vault_key_lists');
  app.api.get(KeyLists).forget();
  id = await app.makeServer();
});

function record(keys: readonly string[], serverId = id): Promise<void> {
  const { accountId } = app.caller;
  return app.api.get(ReadLog).record({ serverId, accountId, via: 'token', address: '192.0.2.1', refused: null, keys });
}

async function count(table: string): Promise<number> {
  const [row] = await app.query(`SELECT COUNT(*) AS n FROM ${table}`);
  return Number(row!['n']);
}

/** Puts entries of an age into the log, each with the list that `listOf` names. */
async function put(serverId: string, entries: number, days: number, listOf?: (n: number) => string): Promise<void> {
  const at = new Date(Date.now() - days * DAY_MS);
  const hashOf = (names: string): Buffer => createHash('sha256').update(names).digest().subarray(0, 16);
  for (let start = 0; start < entries; start += 5000) {
    const some = Array.from({ length: Math.min(5000, entries - start) }, (_, n) => listOf?.(start + n) ?? null);
    const named = some.filter((names) => names !== null);
    if (named.length > 0) {
      await app.query('INSERT IGNORE INTO vault_key_lists (hash, names, stored_at) VALUES ?', [
        named.map((names) => [hashOf(names), names, at]),
      ]);
    }
    await app.query('INSERT INTO vault_reads (server_id, via, address, key_list, repeated, at) VALUES ?', [
      some.map((names) => [serverId, 'token', '192.0.2.1', names === null ? null : hashOf(names), 1, at]),
    ]);
  }
}

test('however often the same names are served, they are stored once, and shown with each read', async () => {
  const other = await app.makeServer();
  await Promise.all(Array.from({ length: 300 }, (_, n) => record(MANY, n % 2 ? id : other)));
  await record(['A', 'B']);
  await record([]);
  expect([await count('vault_reads'), await count('vault_key_lists')]).toEqual([302, 2]);
  const [size] = await app.query('SELECT SUM(LENGTH(names)) AS bytes FROM vault_key_lists');
  expect(Number(size!['bytes'])).toBe(MANY.join(',').length + 'A,B'.length);
  const shown = await app.vault.access(app.caller, id);
  expect(shown.slice(0, 3).map(({ keys }) => keys)).toEqual([[], ['A', 'B'], MANY]);
});

test('a list that went away while a process thought it stored is stored anew', async () => {
  await record(['A']);
  await app.query('DELETE FROM vault_reads');
  await app.query('DELETE FROM vault_key_lists');
  await record(['A']);
  expect(await app.vault.access(app.caller, id)).toEqual([expect.objectContaining({ keys: ['A'] })]);
  await app.query('DELETE FROM vault_reads');
  await app.query('DELETE FROM vault_key_lists');
  await Promise.all([record(['A']), record(['A']), record(['A', 'B'])]);
  expect([await count('vault_reads'), await count('vault_key_lists')]).toEqual([3, 2]);
});

test('reads of the last 30 days are kept, and the last thousand of any age', async () => {
  const other = await app.makeServer();
  await put(id, 700, 60);
  await put(id, 900, 40);
  await put(id, 300, 1);
  await put(other, 900, 400);
  expect(await cleaner.pass()).toBe(900);
  expect(await cleaner.pass()).toBe(0);
  const counts = await app.query('SELECT COUNT(*) AS n FROM vault_reads GROUP BY server_id ORDER BY n');
  expect(counts.map(({ n }) => Number(n))).toEqual([900, 1000]);
});

test('of one service at most a hundred thousand reads are kept, the newest', async () => {
  const other = await app.makeServer();
  await put(id, 1200, 2);
  await put(id, 99_500, 1);
  await put(other, 1200, 2);
  expect(await cleaner.pass()).toBe(700);
  const [row] = await app.query('SELECT COUNT(*) AS n FROM vault_reads WHERE server_id = ? AND at > ?', [
    id,
    new Date(Date.now() - 1.5 * DAY_MS),
  ]);
  expect(Number(row!['n'])).toBe(99_500);
});

test('of one service at most a thousand lists of names are kept', async () => {
  await put(id, 600, 4, (n) => `OLD_${n}`);
  await put(id, 300, 3, () => 'SAME');
  await put(id, 999, 2, (n) => `NEW_${n}`);
  await put(id, 200, 1, () => 'SAME');
  await put(id, 5, 1);
  expect(await cleaner.pass()).toBe(900);
  expect(await count('vault_key_lists')).toBe(1000);
});

test('a list that nothing refers to goes some hours after a process made sure of it', async () => {
  await app.query('INSERT INTO vault_key_lists (hash, names, stored_at) VALUES ?', [
    [2, 4].map((hours) => [Buffer.alloc(16, hours), `STORED_${hours}`, new Date(Date.now() - hours * 3_600_000)]),
  ]);
  await cleaner.pass();
  expect(await app.query('SELECT names FROM vault_key_lists')).toEqual([{ names: 'STORED_2' }]);
});

test('a list goes with the last read that refers to it, one stored lately does not', async () => {
  const other = await app.makeServer();
  await put(id, 3, 2, () => 'A');
  await put(other, 3, 2, (n) => (n === 0 ? 'A' : 'B'));
  await record(['C']);
  await app.query('DELETE FROM servers WHERE id = ?', [other]);
  await cleaner.pass();
  const left = () => app.query('SELECT names FROM vault_key_lists ORDER BY names');
  expect(await left()).toEqual([{ names: 'A' }, { names: 'C' }]);
  await app.query('DELETE FROM servers WHERE id = ?', [id]);
  await cleaner.pass();
  expect(await left()).toEqual([{ names: 'C' }]);
});

test('with too many new lists an account makes no new names for a while; it replaces and deletes as before', async () => {
  const { secret } = await app.put(id, 'OLD', '1');
  const serve = (from: number, to: number): Promise<void[]> =>
    Promise.all(Array.from({ length: to - from }, (_, n) => record([`LIST_${from + n}`])));
  await serve(0, 1900);
  // Known lists are no new ones, not even to a process that has not seen them.
  app.api.get(KeyLists).forget();
  await serve(0, 1900);
  await app.put(id, 'NEW', '1');
  await serve(1900, 2000);
  let refused: { kind?: string } = {};
  for (let n = 0; n < 100 && refused.kind === undefined; n++) {
    refused = await app.put(null, `NEW_${n}`, '1').then(
      () => ({}),
      (error: DomainError) => error,
    );
  }
  expect(refused).toMatchObject({ kind: 'rate_limited', extra: { retryAfterSeconds: expect.any(Number) } });
  await app.put(id, 'OLD', '2');
  await app.vault.delete(app.caller, id, secret.id);
  await serve(2000, 2010);
});

test('reads that were recorded with their names keep them', async () => {
  await record(['A', 'B']);
  await record(MANY);
  await record([]);
  const before = await app.vault.access(app.caller, id);
  const migration = new VaultKeyLists1763640080545();
  const runner = app.servers.database.source.createQueryRunner();
  try {
    await migration.down(runner);
    const kept = await app.query('SELECT keys_served AS names FROM vault_reads ORDER BY id');
    expect(kept.map(({ names }) => names)).toEqual(['A,B', MANY.join(','), '']);
    await migration.up(runner);
    await migration.up(runner);
  } finally {
    await runner.release();
  }
  expect(await app.vault.access(app.caller, id)).toEqual(before);
});
