import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBerth, type Berth } from '../../support/app.js';
import { RoleProcess } from '../../support/role-process.js';
import { until } from '../../support/until.js';
import { expectStatus, StorageClient } from './storage-client.js';
import { S3Server } from '../../support/s3-server.js';

const CLI = join(import.meta.dirname, '..', '..', '..', 'dist', 'src', 'cli', 'berth.js');

let berth: Berth;
let server: S3Server;

beforeAll(async () => {
  server = await S3Server.start();
  berth = await startBerth();
});
afterAll(async () => {
  await berth?.close();
  await server?.close();
});

test('objects move from files to S3 by a command that is cut off and run again, and are read from there', async () => {
  const client = new StorageClient(berth, await berth.makeAccount());
  const bucket = await client.bucket('moving', true);
  const contents = new Map<string, Buffer>();
  for (let index = 0; index < 40; index++)
    contents.set(`key ${index}`, randomBytes(index === 0 ? 12_000_000 : 300_000));
  for (const [key, content] of contents) expectStatus(await client.put(bucket, key, content), 201);

  const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], ...berth.env, ...server.env('moved') };
  const args = [CLI, 'storage', 'copy', '--from', berth.env['OBJECT_STORE_URL']!, '--to', env['OBJECT_STORE_URL']!];
  const cut = spawn(process.execPath, [...args, '--json'], { env, stdio: 'ignore' });
  const stored = () => server.requests.filter((line) => line.startsWith('PUT ')).length;
  await until('some are copied', () => stored() >= 5);
  cut.kill('SIGKILL');
  await once(cut, 'exit');

  // Meanwhile life goes on.
  contents.set('late', randomBytes(1000));
  expectStatus(await client.put(bucket, 'late', contents.get('late')!), 201);
  const first = await copy(args, env);
  expect(first.copied).toBeGreaterThan(0);
  expect(first.present).toBeGreaterThan(0);
  expect(first.copied + first.present).toBe(contents.size);
  expect(await copy(args, env)).toEqual({ copied: 0, present: contents.size, bytes: 0 });

  await berth.process('api').stop();
  rmSync(new URL(berth.env['OBJECT_STORE_URL']!), { recursive: true });
  const moved = new RoleProcess(['api', 'worker'], { ...berth.env, ...server.env('moved') });
  await moved.start();
  try {
    for (const [key, content] of contents) {
      expect(expectStatus(await client.get(bucket, key), 200).bytes.equals(content)).toBe(true);
    }
    const range = { range: 'bytes=11000000-11999999' };
    const part = await client.public(`/storage/public/${bucket}/key%200`, { headers: range });
    expect(expectStatus(part, 206).bytes.equals(contents.get('key 0')!.subarray(11_000_000))).toBe(true);
    expectStatus(await client.put(bucket, 'new', contents.get('key 0')!), 201);
    expect((await client.get(bucket, 'new')).bytes.equals(contents.get('key 0')!)).toBe(true);
    const { request, answer } = client.begin(bucket, 'aborted', { 'content-length': '20000000' });
    request.write(randomBytes(10_000_000), () => request.destroy());
    await expect(answer).rejects.toThrow();
    (await client.account.api.delete(`/storage/buckets/${bucket}`)).expect(204);
    await until('the bucket is empty', async () => {
      const rows = await berth.database.query('SELECT 1 FROM buckets WHERE id = ?', [bucket]);
      return rows.length === 0;
    });
    await server.kill();
    const other = (await client.account.api.post('/storage/buckets', { name: 'store-away' })).expect(201).body
      .id as string;
    expect(expectStatus(await client.put(other, 'x', 'x'), 503).headers['retry-after']).toBeDefined();
  } finally {
    await moved.stop();
  }
}, 90_000);

test('a store that is no store is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-copy-'));
  const args = [CLI, 'storage', 'copy', '--from', `file://${folder}`, '--to', 'ftp://x'];
  await expect(copy(args, { PATH: process.env['PATH'] })).rejects.toThrow(/file:\/path or s3:\/\//);
  rmSync(folder, { recursive: true });
});

async function copy(args: string[], env: NodeJS.ProcessEnv): Promise<Record<'copied' | 'present' | 'bytes', number>> {
  const child = spawn(process.execPath, [...args, '--json'], { env });
  const written = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (written.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (written.err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(written.err);
  return JSON.parse(written.out) as never;
}
