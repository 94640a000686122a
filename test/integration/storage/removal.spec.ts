import { mkdirSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBerth, type Berth } from '../../support/app.js';
import { until } from '../../support/until.js';
import { PagesClient } from '../pages/pages-client.js';
import { expectStatus, StorageClient } from './storage-client.js';

let berth: Berth;
let client: StorageClient;
let pages: PagesClient;

beforeAll(async () => {
  berth = await startBerth();
  client = new StorageClient(berth, await berth.makeAccount());
  pages = new PagesClient(berth, client.account);
});
afterAll(async () => {
  pages?.close();
  await berth?.close();
});

function fileOf(blobId: string): string {
  return join(fileURLToPath(berth.env['OBJECT_STORE_URL']!), blobId.slice(0, 2), blobId.slice(2, 4), blobId);
}

const isThere = (blobId: string): boolean => statSync(fileOf(blobId), { throwIfNoEntry: false }) !== undefined;

/** What the store cannot remove, until it is let go. */
function hold(blobId: string): () => void {
  unlinkSync(fileOf(blobId));
  mkdirSync(fileOf(blobId));
  return () => rmdirSync(fileOf(blobId));
}

async function put(bucket: string, key: string): Promise<string> {
  expectStatus(await client.put(bucket, key, key), 201);
  const sql = 'SELECT blob_id AS id FROM bucket_objects WHERE bucket_id = ? AND object_key = ?';
  return (await berth.database.query<{ id: string }[]>(sql, [bucket, key]))[0]!.id;
}

const isEmpty = async (sql: string, values: unknown[]): Promise<boolean> =>
  (await berth.database.query(sql, values)).length === 0;

describe('one blob that cannot be removed holds up none of the others, and is tried again', () => {
  test('of objects', async () => {
    const bucket = await client.bucket('held');
    const [held, other] = [await put(bucket, 'held'), await put(bucket, 'other')];
    const letGo = hold(held);
    expectStatus(await client.delete(bucket, 'held'), 204);
    expectStatus(await client.delete(bucket, 'other'), 204);
    const row = 'SELECT 1 FROM discarded_blobs WHERE blob_id = ?';
    await until('the other one is gone', () => isEmpty(row, [other]));
    expect([isThere(other), isThere(held), await isEmpty(row, [held])]).toEqual([false, true, false]);
    letGo();
    await berth.database.query('UPDATE discarded_blobs SET discarded_at = discarded_at - INTERVAL 2 MINUTE');
    await until('it is gone as well', () => isEmpty(row, [held]));
  });

  test('of buckets', async () => {
    const [first, second] = [await client.bucket('first'), await client.bucket('second')];
    const blobs = [await put(first, 'a'), await put(first, 'b'), await put(first, 'c'), await put(second, 'd')];
    const letGo = hold(blobs[1]!);
    for (const id of [first, second]) (await client.account.api.delete(`/storage/buckets/${id}`)).expect(204);
    await until('the other bucket is gone', () => isEmpty('SELECT 1 FROM buckets WHERE id = ?', [second]));
    await until('so are the others of the first', async () => {
      const rows = await berth.database.query<{ id: string }[]>(
        'SELECT blob_id AS id FROM bucket_objects WHERE bucket_id = ?',
        [first],
      );
      return rows.length === 1 && rows[0]!.id === blobs[1];
    });
    expect(blobs.map(isThere)).toEqual([false, true, false, false]);
    letGo();
    await until('the first is gone as well', () => isEmpty('SELECT 1 FROM buckets WHERE id = ?', [first]));
  });

  test('of sites', async () => {
    const [first, second] = [await pages.shown({ 'index.html': 'a' }), await pages.shown({ 'index.html': 'b' })];
    const sql = 'SELECT blob_id AS id FROM deployments WHERE site_id = ?';
    const [held] = await berth.database.query<{ id: string }[]>(sql, [first.id]);
    const letGo = hold(held!.id);
    for (const { id } of [first, second]) (await client.account.api.delete(`/pages/${id}`)).expect(204);
    const age = async (): Promise<void> => {
      const row = 'UPDATE deployments SET discarded_at = discarded_at - INTERVAL 5 MINUTE WHERE site_id IN (?)';
      await until('they are discarded', () =>
        isEmpty('SELECT 1 FROM deployments WHERE site_id IN (?) AND discarded_at IS NULL', [[first.id, second.id]]),
      );
      await berth.database.query(row, [[first.id, second.id]]);
    };
    await age();
    await until('the other site is gone', () => isEmpty('SELECT 1 FROM sites WHERE id = ?', [second.id]));
    expect([isThere(held!.id), await isEmpty(sql, [first.id])]).toEqual([true, false]);
    letGo();
    await until('it was put off', () =>
      isEmpty('SELECT 1 FROM deployments WHERE site_id = ? AND discarded_at < NOW() - INTERVAL 4 MINUTE', [first.id]),
    );
    await age();
    await until('it is gone as well', () => isEmpty('SELECT 1 FROM sites WHERE id = ?', [first.id]));
  });

  test('of backups', async () => {
    const { api } = client.account;
    const wanted = { name: 'kept', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 };
    const { id } = (await api.post('/servers', wanted)).expect(201).body as { id: string };
    await api.waitFor(`/servers/${id}`, 'RUNNING');
    const make = async () => {
      const { uuid } = (await api.post(`/servers/${id}/backups`)).expect(201).body as { uuid: string };
      await api.waitFor(`/servers/${id}/backups/${uuid}`, 'READY');
      const sql = 'SELECT blob_id AS blobId FROM server_backups WHERE uuid = ?';
      return { uuid, blob: (await berth.database.query<{ blobId: string }[]>(sql, [uuid]))[0]!.blobId };
    };
    const [held, other] = [await make(), await make()];
    const letGo = hold(held.blob);
    for (const { uuid } of [held, other]) (await api.delete(`/servers/${id}/backups/${uuid}`)).expect(204);
    const row = 'SELECT 1 FROM server_backups WHERE uuid = ?';
    await until('the other one is gone', () => isEmpty(row, [other.uuid]));
    expect([isThere(other.blob), isThere(held.blob), await isEmpty(row, [held.uuid])]).toEqual([false, true, false]);
    letGo();
    await berth.database.query('UPDATE server_backups SET deleted_at = deleted_at - INTERVAL 2 MINUTE');
    await until('it is gone as well', () => isEmpty(row, [held.uuid]));
  });
});
