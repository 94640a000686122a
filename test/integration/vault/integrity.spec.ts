import { appendFileSync, rmSync } from 'node:fs';
import { VaultStore } from '../../../src/modules/vault/store/vault-store.service.js';
import { ScopeLoader } from '../../../src/modules/vault/store/scope-loader.service.js';
import { serverScope } from '../../../src/modules/vault/store/scope-name.js';
import { VaultAnchor } from '../../../src/modules/vault/vault-anchor.service.js';
import { openValue } from '../../../src/platform/crypto/value-cipher.js';
import { VaultKeys } from '../../../src/modules/vault/keys/vault-keys.service.js';
import { placeOf } from '../../../src/modules/vault/store/scope-head.js';
import { VaultApp } from './vault-app.js';

jest.setTimeout(60_000);

let app: VaultApp;
let id: string;
let scope: string;

beforeAll(async () => (app = await VaultApp.start()));
afterAll(() => app?.close());

beforeEach(async () => {
  id = await app.makeServer();
  scope = serverScope(id);
  await app.put(id, 'A', 'first');
  await app.put(id, 'B', 'second', { sealed: false });
});

const served = { A: 'first', B: 'second' };

/** Whether the row of a key opens where it stands, with nothing but its own cipher to say no. */
async function opens(of: string, key: string): Promise<boolean> {
  const [row] = await app.query<any[]>(
    `SELECT sc.scope, sc.generation, sc.kek_id AS kekId, sc.wrapped_seed AS wrappedSeed, s.version, s.sealed, s.ciphertext
       FROM vault_scopes sc JOIN vault_secrets s ON s.scope = sc.scope WHERE sc.scope = ? AND s.key_name = ?`,
    [serverScope(of), key],
  );
  try {
    openValue(
      await app.api.get(VaultKeys).seed(row),
      placeOf(row, { ...row, key, sealed: row.sealed === 1 }),
      row.ciphertext,
    );
    return true;
  } catch {
    return false;
  }
}

describe('what is changed behind the platform’s back is refused, by the head and by the cipher alone', () => {
  test.each<[string, string, boolean]>([
    ['V-01: a bit of a value', 'UPDATE vault_secrets SET ciphertext = INSERT(ciphertext, 60, 1, 0x00) WHERE ?', false],
    ['V-04: a version counted back', 'UPDATE vault_secrets SET version = 0 WHERE ?', false],
    ['the seal broken', 'UPDATE vault_secrets SET sealed = 0 WHERE ?', false],
    ['V-03: a row renamed', "UPDATE vault_secrets SET key_name = 'C' WHERE ?", false],
    ['V-07: a row deleted', 'DELETE FROM vault_secrets WHERE ?', false],
    ['V-06: a tag cut short', 'UPDATE vault_secrets SET ciphertext = LEFT(ciphertext, 62) WHERE ?', false],
  ])('%s', async (_name, sql) => {
    expect(await app.read(id)).toEqual(served);
    await app.query(sql.replace('?', "scope = ? AND key_name = 'A'"), [scope]);
    expect(await app.fault(id)).toBe('HEAD_MISMATCH');
    const [left] = await app.query<{ key: string }[]>(
      "SELECT key_name AS `key` FROM vault_secrets WHERE scope = ? AND key_name <> 'B'",
      [scope],
    );
    if (left) expect(await opens(id, left.key)).toBe(false);
    await expect(app.put(id, 'D', 'x')).rejects.toMatchObject({ code: 'vault_integrity' });
    const shown = (await app.vault.list(app.caller, id)).find(({ key }) => key === 'B')!;
    await expect(app.vault.reveal(app.caller, id, shown.id)).rejects.toMatchObject({ code: 'vault_integrity' });
  });

  test('V-02: the row of another service', async () => {
    const other = await app.makeServer();
    await app.put(other, 'A', 'of another');
    const copy = `UPDATE vault_secrets mine JOIN vault_secrets theirs ON theirs.scope = ? AND theirs.key_name = 'A'
                     SET mine.ciphertext = theirs.ciphertext WHERE mine.scope = ? AND mine.key_name = 'A'`;
    await app.query(copy, [serverScope(other), scope]);
    expect(await app.fault(id)).toBe('HEAD_MISMATCH');
    expect(await opens(id, 'A')).toBe(false);
    expect(await app.read(other)).toEqual({ A: 'of another' });
  });

  test('V-05: the wrapped seed of another service', async () => {
    const other = await app.makeServer();
    await app.put(other, 'A', 'of another');
    const swap = `UPDATE vault_scopes mine JOIN vault_scopes theirs ON theirs.scope = ?
                     SET mine.wrapped_seed = theirs.wrapped_seed WHERE mine.scope = ?`;
    await app.query(swap, [serverScope(other), scope]);
    expect(await app.fault(id)).toBe('WRAPPED_KEY');
    await expect(app.put(id, 'D', 'x')).rejects.toMatchObject({ code: 'vault_integrity' });
  });

  test('a head that was made without the key', async () => {
    await app.query('UPDATE vault_scopes SET head = REPEAT(0x00, 32) WHERE scope = ?', [scope]);
    expect(await app.fault(id)).toBe('HEAD_MISMATCH');
  });

  test('the whole scope taken away', async () => {
    await app.query('DELETE FROM vault_scopes WHERE scope = ?', [scope]);
    expect(await app.fault(id)).toBe('EPOCH_ROLLBACK');
    await expect(app.put(id, 'A', 'x')).rejects.toMatchObject({ code: 'vault_integrity' });
  });

  test('a fault in the account’s secrets refuses its services; others are served', async () => {
    const other = await app.servers.makeCaller(`other-${id.slice(-6)}`);
    await app.vault.put(other, null, { key: 'A', value: 'theirs' });
    await app.put(null, 'SHARED', 'x');
    expect(await app.read(id)).toEqual({ ...served, SHARED: 'x' });
    const account = `acct:${app.caller.accountId}`;
    const [row] = await app.query<{ version: number }[]>('SELECT version FROM vault_secrets WHERE scope = ?', [
      account,
    ]);
    await app.query('UPDATE vault_secrets SET version = version + 1 WHERE scope = ?', [account]);
    expect(await app.fault(id)).toBe('HEAD_MISMATCH');
    const loaded = await app.api.get(ScopeLoader).load([`acct:${other.accountId}`]);
    expect([...loaded.values()]).toEqual([expect.objectContaining({ rows: [expect.anything()] })]);
    await app.query('UPDATE vault_secrets SET version = ? WHERE scope = ?', [row!.version, account]);
    const [entry] = await app.vault.list(app.caller, null);
    await app.vault.delete(app.caller, null, entry!.id);
  });
});

describe('V-07: what a backup brings back', () => {
  test('a row of before, version and all, is refused; accepted, it is served and that is on record', async () => {
    const [before] = await app.query("SELECT * FROM vault_secrets WHERE scope = ? AND key_name = 'A'", [scope]);
    await app.put(id, 'A', 'newer');
    await app.insert('vault_secrets', before!);
    expect(await app.fault(id)).toBe('HEAD_MISMATCH');
    expect(await opens(id, 'A')).toBe(true);
    const accepted = await app.acceptance.accept(scope, 'one row restored from the backup of monday');
    expect(accepted).toEqual([{ scope, fault: 'HEAD_MISMATCH', refused: null }]);
    expect(await app.read(id)).toEqual(served);
    const [record] = await app.query("SELECT detail FROM vault_incidents WHERE scope = ? AND kind = 'ACCEPTED'", [
      scope,
    ]);
    expect(record!['detail']).toBe('HEAD_MISMATCH: one row restored from the backup of monday');
    await app.put(id, 'A', 'and on');
    expect(await app.read(id)).toEqual({ ...served, A: 'and on' });
  });

  test('a whole database of before is refused until it is accepted, and refused again when it comes once more', async () => {
    const restore = await app.copy('vault_scopes', 'vault_secrets');
    await app.put(id, 'A', 'newer');
    await restore();
    expect(await app.fault(id)).toBe('EPOCH_ROLLBACK');
    await expect(app.put(id, 'A', 'x')).rejects.toMatchObject({ code: 'vault_integrity' });
    const anotherProcess = await app.another();
    expect(await app.fault(id, anotherProcess)).toBe('EPOCH_ROLLBACK');
    await app.acceptance.accept(null, 'the whole database restored');
    expect(await app.read(id)).toEqual(served);
    expect(await app.read(id, anotherProcess)).toEqual(served);
    await restore();
    expect(await app.fault(id)).toBe('EPOCH_ROLLBACK');
    await app.acceptance.accept(null, 'and again');
  });

  test('what came about after the backup is gone with it, and begins anew once that is accepted', async () => {
    const restore = await app.copy('vault_scopes', 'vault_secrets');
    const fresh = await app.makeServer();
    await app.put(fresh, 'LATER', 'x');
    await restore();
    expect(await app.fault(fresh)).toBe('EPOCH_ROLLBACK');
    const accepted = await app.acceptance.accept(null, 'the whole database restored');
    expect(accepted).toContainEqual({ scope: serverScope(fresh), fault: 'EPOCH_ROLLBACK', refused: null });
    expect(await app.read(fresh)).toEqual({});
    await app.put(fresh, 'LATER', 'y');
    expect(await app.read(fresh)).toEqual({ LATER: 'y' });
  });

  test('what does not open is not accepted either', async () => {
    await app.query("UPDATE vault_secrets SET version = 9 WHERE scope = ? AND key_name = 'A'", [scope]);
    const [answer] = await app.acceptance.accept(scope, 'to be on the safe side');
    expect(answer).toMatchObject({ fault: 'HEAD_MISMATCH', refused: 'these values do not open: A' });
    expect(await app.fault(id)).toBe('HEAD_MISMATCH');
  });

  test('accepting is not for every hour of the day', async () => {
    await app.query('UPDATE vault_incidents SET created_at = created_at - INTERVAL 2 HOUR');
    for (let time = 0; time < 10; time++) {
      await app.query('UPDATE vault_scopes SET head = REPEAT(0x00, 32) WHERE scope = ?', [scope]);
      await app.acceptance.accept(scope, `time ${time}`);
    }
    await expect(app.acceptance.accept(scope, 'once more')).rejects.toMatchObject({ code: 'rate_limited' });
    await app.query('UPDATE vault_incidents SET created_at = created_at - INTERVAL 2 HOUR');
  });
});

describe('the anchor', () => {
  const anchor = () => app.api.get(VaultAnchor);
  const epoch = async (): Promise<number> =>
    Number((await app.query<{ epoch: number }[]>('SELECT epoch FROM vault_scopes WHERE scope = ?', [scope]))[0]!.epoch);

  test('V-09: a process that died before it noted its commit leaves nothing unreadable, however often', async () => {
    jest.spyOn(anchor(), 'raise').mockResolvedValue(undefined);
    for (let time = 0; time < 100; time++) {
      await app.put(id, 'A', `value ${time}`);
      if (time % 10 === 0) expect((await app.read(id))['A']).toBe(`value ${time}`);
    }
    jest.restoreAllMocks();
    expect(anchor().floor(scope)).toBe(2);
    expect(await app.read(id)).toEqual({ ...served, A: 'value 99' });
    expect(anchor().floor(scope)).toBe(await epoch());
  });

  test('a machine without one, or with an old one, goes on, and knows from then on', async () => {
    const other = await app.another({ VAULT_ANCHOR_FILE: `${app.anchorFile}.other` });
    expect(await app.read(id, other)).toEqual(served);
    const restore = await app.copy('vault_scopes', 'vault_secrets');
    await app.put(id, 'A', 'newer');
    expect((await app.read(id, other))['A']).toBe('newer');
    await restore();
    expect(await app.fault(id, other)).toBe('EPOCH_ROLLBACK');
    rmSync(`${app.anchorFile}.other`);
    const fresh = await app.another({ VAULT_ANCHOR_FILE: `${app.anchorFile}.other` });
    expect(await app.read(id, fresh)).toEqual(served);
    await app.acceptance.accept(null, 'restored by the test');
  });

  test('one that says more than ever was refuses', async () => {
    appendFileSync(app.anchorFile, `${scope} 99\n`);
    expect(await app.fault(id)).toBe('EPOCH_ROLLBACK');
  });

  test('a service that was deleted is not missed', async () => {
    await app.query("UPDATE servers SET status = 'DELETING' WHERE id = ?", [id]);
    await app.query('DELETE FROM vault_scopes WHERE scope = ?', [scope]);
    expect(await app.read(id)).toEqual({});
  });
});

describe('many at once', () => {
  test('V-08: 200 replacements of one key by two processes: versions in a row, one row, a head that holds', async () => {
    const other = await app.another();
    const stores = [app.api.get(VaultStore), other.get(VaultStore)];
    const wanted = { key: 'RACED', sealed: true };
    const owner = { accountId: app.caller.accountId, serverId: id };
    const done = await Promise.all(
      Array.from({ length: 200 }, (_, n) => stores[n % 2]!.put(owner, app.caller, { ...wanted, value: `${n}` })),
    );
    expect(done.map(({ secret }) => secret.version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 200 }, (_, n) => n + 1),
    );
    const last = done.findIndex(({ secret }) => secret.version === 200);
    expect(await app.read(id)).toEqual({ ...served, RACED: String(last) });
    expect(
      await app.query("SELECT version FROM vault_secrets WHERE scope = ? AND key_name = 'RACED'", [scope]),
    ).toEqual([{ version: 200 }]);
  });

  test('the first secrets of a service, made by two processes at the same moment, share one seed', async () => {
    const fresh = await app.makeServer();
    const other = await app.another();
    const keys = Array.from({ length: 10 }, (_, n) => `KEY_${n}`);
    const owner = { accountId: app.caller.accountId, serverId: fresh };
    await Promise.all(
      keys.map((key, n) =>
        [app.api, other][n % 2]!.get(VaultStore).put(owner, app.caller, { key, value: key, sealed: true }),
      ),
    );
    expect(await app.read(fresh)).toEqual(Object.fromEntries(keys.map((key) => [key, key])));
  });

  test('readers never see half of a change', async () => {
    let writing = true;
    const reader = Promise.all(
      Array.from({ length: 4 }, async () => {
        let seen = 0;
        while (writing) {
          const { A: text } = await app.read(id);
          expect(Number(text!.replace('first', '0'))).toBeGreaterThanOrEqual(seen);
          seen = Number(text!.replace('first', '0'));
        }
      }),
    );
    for (let n = 1; n <= 40; n++) await app.put(id, 'A', String(n));
    writing = false;
    await reader;
  });
});

test('a deleted key that is forgotten by name comes back with a version never used', async () => {
  for (let n = 0; n < 205; n++) {
    const { secret } = await app.put(id, `SHORT_${n}`, 'x');
    await app.vault.delete(app.caller, id, secret.id);
  }
  await app.put(id, 'LONG', '1');
  const { secret } = await app.put(id, 'SHORT_0', 'x');
  expect(secret.version).toBeGreaterThan(1);
  const [{ rows }] = (await app.query('SELECT COUNT(*) AS `rows` FROM vault_secrets WHERE scope = ?', [scope])) as any;
  expect(Number(rows)).toBeLessThan(210);
  expect(Object.keys(await app.read(id))).toEqual(['A', 'B', 'LONG', 'SHORT_0']);
});
