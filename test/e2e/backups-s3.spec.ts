import { createHash } from 'node:crypto';
import type { Api } from '../support/api.js';
import { S3Server } from '../support/s3-server.js';
import { until } from '../support/until.js';
import { backUp, obedient, restored, type Obedient } from './support/backing-up.js';
import { readFile, writeFile } from './support/data-set.js';
import { Hosting, onEngine } from './support/hosting.js';

/** Archives go in pieces to a server of another kind, by the thread that carries them. */
onEngine('backups in an S3 store', () => {
  let s3: S3Server;
  let hosting: Hosting;
  let api: Api;
  let service: Obedient;

  beforeAll(async () => {
    s3 = await S3Server.start();
    hosting = await Hosting.start({ env: s3.env('blobs') });
    api = (await hosting.berth.makeAccount()).api;
    service = await obedient(api);
  });
  afterAll(async () => {
    await hosting?.close();
    await s3?.close();
  });

  const download = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${hosting.berth.baseUrl}/api/v1${path}/download`, { headers: { ...api.headers, ...headers } });

  test('one of several pieces comes back whole, can be had in parts, and leaves nothing when it is deleted', async () => {
    const { server, program } = service;
    await writeFile(program, 'kept', 'as it was');
    // More than a piece of an upload, and nothing that could be compressed.
    await program.run('sh', '-c', 'head -c 24000000 /dev/urandom > random');
    const before = s3.requests.length;
    const backup = await backUp(api, server.id);
    expect(backup.bytes).toBeGreaterThan(24_000_000);
    expect(s3.requests.slice(before).filter((line) => /^PUT .*partNumber=/.test(line)).length).toBeGreaterThan(1);

    await writeFile(program, 'kept', 'changed');
    await program.run('rm', 'random');
    await restored(api, server.id, backup.uuid);
    expect(await readFile(program, 'kept')).toBe('as it was');

    const path = `/servers/${server.id}/backups/${backup.uuid}`;
    const whole = Buffer.from(await (await download(path)).arrayBuffer());
    expect(createHash('sha256').update(whole).digest('hex')).toBe(backup.checksum);
    const part = await download(path, { range: 'bytes=8000000-8000099' });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(whole.subarray(8_000_000, 8_000_100));

    (await api.delete(path)).expect(204);
    await until('its blob is deleted', () => s3.requests.some((line) => line.startsWith('DELETE ')));
  });

  test('while the store is away a download says so, and the service runs on', async () => {
    const { server, program } = service;
    const { uuid } = await backUp(api, server.id);
    await s3.kill();
    expect((await download(`/servers/${server.id}/backups/${uuid}`)).status).toBe(503);
    expect(await program.text()).toBeTruthy();
  });
});
