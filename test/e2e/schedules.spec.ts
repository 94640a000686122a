import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { obedient, type Backup } from './support/backing-up.js';
import { ended, Hosting, onEngine } from './support/hosting.js';

const run = promisify(execFile);

onEngine('schedules', () => {
  let hosting: Hosting;

  beforeAll(async () => {
    hosting = await Hosting.start();
  });
  afterAll(() => hosting?.close());

  test('one tells the program a line, and then backs up what the program made of it', async () => {
    const { api } = await hosting.berth.makeAccount();
    const { server } = await obedient(api);
    const schedules = `/servers/${server.id}/schedules`;
    const { id } = (await api.post(schedules, { name: 'nightly', hour: '4', isActive: false })).expect(201).body;
    for (const task of [
      { action: 'command', payload: 'save $(everything) ünd more' },
      { action: 'backup', timeOffset: 1 },
    ]) {
      (await api.post(`${schedules}/${id}/tasks`, task)).expect(201);
    }
    const { operationId } = (await api.post(`${schedules}/${id}/execute`)).expect(202).body as { operationId: string };
    expect((await ended(api, operationId)).body).toMatchObject({ status: 'DONE' });

    const runs = (await api.get(`${schedules}/${id}/runs`)).expect(200).body as { status: string }[];
    expect(runs.map(({ status }) => status)).toEqual(['DONE']);
    const backups = (await api.get(`/servers/${server.id}/backups`)).expect(200).body as Backup[];
    expect(backups.map(({ status }) => status)).toEqual(['READY']);
    const answer = await fetch(
      `${hosting.berth.baseUrl}/api/v1/servers/${server.id}/backups/${backups[0]!.uuid}/download`,
      { headers: api.headers },
    );
    const file = join(fileURLToPath(hosting.berth.env.OBJECT_STORE_URL!), 'downloaded');
    writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
    const { stdout } = await run('tar', ['--zstd', '-xOf', file, './heard']);
    expect(stdout).toBe('save $(everything) ünd more\n');
  });
});
