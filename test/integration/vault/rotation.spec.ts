import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newKey, writeKeyring } from '../../../src/platform/crypto/key-providers/keyring.js';
import { VaultKeys } from '../../../src/modules/vault/keys/vault-keys.service.js';
import { serverScope } from '../../../src/modules/vault/store/scope-name.js';
import { stack } from '../../support/stack.js';
import { VaultApp } from './vault-app.js';

jest.setTimeout(60_000);

const CLI = join(import.meta.dirname, '..', '..', '..', 'dist', 'src', 'cli', 'berth.js');
const execute = promisify(execFile);

let app: VaultApp;
const ids: string[] = [];

beforeAll(async () => {
  app = await VaultApp.start();
  for (let n = 0; n < 6; n++) {
    ids.push(await app.makeServer());
    await app.put(ids[n]!, 'NUMBER', String(n));
  }
  await app.put(null, 'SHARED', 'x');
});
afterAll(() => app?.close());

const expected = (n: number): object => ({ NUMBER: String(n), SHARED: 'x' });

/** Reads all services over and over while something goes on; answers how often. Any refused read is an error. */
async function reading(meanwhile: () => Promise<void>): Promise<number> {
  let going = true;
  let reads = 0;
  const readers = Promise.all(
    [0, 1, 2].map(async (offset) => {
      for (let n = offset; going; n++, reads++) expect(await app.read(ids[n % 6]!)).toEqual(expected(n % 6));
    }),
  );
  await Promise.race([meanwhile(), readers]);
  going = false;
  await readers;
  return reads;
}

async function kekIds(): Promise<string[]> {
  const rows = await app.query<{ kek: string }[]>(
    'SELECT kek_id AS kek FROM vault_scopes UNION SELECT kek_id FROM vault_keys ORDER BY kek',
  );
  return rows.map(({ kek }) => kek);
}

test('V-10: the master key changes with no read lost; the old one gone, all is readable; broken off, it goes on', async () => {
  const next = newKey();
  const reads = await reading(async () => {
    writeKeyring(app.keyring, [app.firstKey, next]);
    expect((await app.rotation.rewrap()).rewrapped).toBe(0);
    writeKeyring(app.keyring, [next, app.firstKey]);
    const keys = app.api.get(VaultKeys);
    let wrapped = 0;
    const rewrap = keys.rewrapSeed.bind(keys);
    jest.spyOn(keys, 'rewrapSeed').mockImplementation(async (seed) => {
      if (++wrapped > 3) throw new Error('killed');
      return rewrap(seed);
    });
    await expect(app.rotation.rewrap()).rejects.toThrow('killed');
    jest.restoreAllMocks();
    expect(await app.rotation.notWrappedBy(next.id)).toBe(4);
    expect(await app.rotation.rewrap()).toEqual({ rewrapped: 4, remaining: 0, currentKey: next.id });
    writeKeyring(app.keyring, [next]);
  });
  expect(reads).toBeGreaterThan(10);
  expect(await kekIds()).toEqual([next.id]);
  const fresh = await app.another();
  for (const [n, id] of ids.entries()) expect(await app.read(id, fresh)).toEqual(expected(n));
});

test('every scope gets another seed with no read lost, and secrets made meanwhile are among them', async () => {
  const before = await app.query('SELECT scope, wrapped_seed AS seed, generation FROM vault_scopes ORDER BY scope');
  const reads = await reading(async () => {
    await Promise.all([app.rotation.reseed(), ...ids.map((id, n) => app.put(id, 'NUMBER', String(n)))]);
  });
  expect(reads).toBeGreaterThan(3);
  const after = await app.query('SELECT scope, wrapped_seed AS seed, generation FROM vault_scopes ORDER BY scope');
  expect(after.map(({ generation }) => generation)).toEqual(before.map(() => 2));
  for (const [index, row] of after.entries()) expect(row['seed']).not.toEqual(before[index]!['seed']);
  const fresh = await app.another();
  for (const [n, id] of ids.entries()) expect(await app.read(id, fresh)).toEqual(expected(n));
});

describe('the operator’s commands', () => {
  async function berth(...args: string[]): Promise<any> {
    const env = {
      ...stack.env(),
      DATABASE_URL: app.servers.database.url,
      MASTER_KEY_FILE: app.keyring,
      VAULT_ANCHOR_FILE: app.anchorFile,
      PATH: process.env['PATH']!,
    };
    const { stdout } = await execute(process.execPath, [CLI, '--json', 'vault', ...args], { env });
    return JSON.parse(stdout);
  }

  test('change the master key step by step, and let none go that is needed', async () => {
    const [{ id: old }] = await berth('keyring', 'list');
    const added = await berth('keyring', 'add');
    expect(added).toEqual([
      { id: old, inUse: true },
      { id: expect.any(String) as string, inUse: false },
    ]);
    await expect(berth('keyring', 'add')).rejects.toThrow('there is a second key already');
    const [{ id: next }] = await berth('keyring', 'promote');
    expect(next).toBe(added[1].id);
    await expect(berth('keyring', 'retire')).rejects.toThrow('9 keys are wrapped by it');
    expect(await app.read(ids[0]!)).toEqual(expected(0));
    expect(await berth('rotate')).toEqual({ reseeded: 0, rewrapped: 9, remaining: 0, currentKey: next });
    expect(await berth('keyring', 'retire')).toEqual([{ id: next, inUse: true }]);
    expect(await kekIds()).toEqual([next]);
    expect(await app.read(ids[0]!)).toEqual(expected(0));
  });

  test('accept a restored scope, with a reason, and show what happened', async () => {
    const [id] = ids;
    await app.query('UPDATE vault_scopes SET head = REPEAT(0x00, 32) WHERE scope = ?', [serverScope(id!)]);
    expect(await app.fault(id!)).toBe('HEAD_MISMATCH');
    await expect(berth('anchor', 'accept', '--scope', id!)).rejects.toThrow('--reason');
    await expect(berth('anchor', 'accept', '--scope', 'nobody', '--reason', 'because')).rejects.toThrow('--scope is');
    expect(await berth('anchor', 'accept', '--scope', id!, '--reason', 'a row put back')).toEqual([
      { scope: serverScope(id!), fault: 'HEAD_MISMATCH', refused: null },
    ]);
    expect(await app.read(id!)).toEqual(expected(0));
    expect((await berth('incidents')).slice(0, 2)).toMatchObject([
      { kind: 'ACCEPTED', detail: 'HEAD_MISMATCH: a row put back' },
      { kind: 'HEAD_MISMATCH', scope: serverScope(id!) },
    ]);
    expect(await berth('anchor', 'accept', '--scope', 'all', '--reason', 'to be sure')).toEqual([]);
  });
});
