import { LastReads } from '../../../src/modules/vault/store/last-reads.service.js';
import { VaultApp } from './vault-app.js';

jest.setTimeout(60_000);

let app: VaultApp;
let id: string;

beforeAll(async () => (app = await VaultApp.start()));
afterAll(() => app?.close());
beforeEach(async () => (id = await app.makeServer()));

async function lastReadAt(serverId: string | null, key: string): Promise<Date | null> {
  await app.api.get(LastReads).flush(true);
  const secrets = await app.vault.list(app.caller, serverId);
  return secrets.find((secret) => secret.key === key)!.lastReadAt;
}

test('a value that is shown was read: by whom stands in the log, and when in the list', async () => {
  const { secret } = await app.put(id, 'SHOWN', 'x', { sealed: false });
  await app.put(id, 'OTHER', 'x', { sealed: false });
  const start = Date.now();
  expect(await app.vault.reveal(app.caller, id, secret.id)).toMatchObject({ key: 'SHOWN', value: 'x' });
  expect(await app.vault.access(app.caller, id)).toEqual([
    { at: expect.any(Date), via: 'panel', address: app.caller.address, keys: ['SHOWN'], refused: false, reason: null },
  ]);
  expect((await lastReadAt(id, 'SHOWN'))!.getTime()).toBeGreaterThanOrEqual(start - 1000);
  expect(await lastReadAt(id, 'OTHER')).toBeNull();
});

test('one of the account that is shown stands in the log of each service that reads it', async () => {
  const [own, gone] = [await app.makeServer(), await app.makeServer('DELETING')];
  const { secret } = await app.put(null, 'SHARED', 'x', { sealed: false });
  await app.put(own, 'SHARED', 'its own');
  await app.vault.reveal(app.caller, null, secret.id);
  const entry = { via: 'panel', address: app.caller.address, keys: ['SHARED'], refused: false };
  expect(await app.vault.access(app.caller, id)).toEqual([expect.objectContaining(entry)]);
  expect(await app.vault.access(app.caller, own)).toEqual([]);
  expect(await app.query('SELECT id FROM vault_reads WHERE server_id = ?', [gone])).toEqual([]);
  expect(await lastReadAt(null, 'SHARED')).toBeInstanceOf(Date);
  await app.vault.delete(app.caller, null, secret.id);
});

test('a sealed one is shown to nobody, which is no read', async () => {
  const { secret } = await app.put(id, 'SEALED', 'x');
  await expect(app.vault.reveal(app.caller, id, secret.id)).rejects.toMatchObject({ code: 'secret_sealed' });
  expect(await app.vault.access(app.caller, id)).toEqual([]);
  expect(await lastReadAt(id, 'SEALED')).toBeNull();
});
