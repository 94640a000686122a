import type { Api } from '../support/api.js';
import type { TestAccount } from '../support/app.js';
import { until } from '../support/until.js';
import { activity, Hosting, onEngine, powered, runningServer, type Server, setVariable } from './support/hosting.js';

const ENDS = ['DONE', 'FAILED', 'TIMEOUT'];
const MB = 1024 * 1024;

onEngine('commands in services', () => {
  let hosting: Hosting;
  let tenant: TestAccount;
  let api: Api;
  let server: Server;

  beforeAll(async () => {
    hosting = await Hosting.start({ processes: [['api', 'node'], ['worker']] });
    tenant = await hosting.berth.makeAccount();
    api = tenant.api;
    server = await runningServer(api);
  });
  afterAll(() => hosting?.close());

  const begin = async (command: string, id = server.id) =>
    (await api.post(`/servers/${id}/exec`, { command })).expect(202).body.jobId as string;
  const result = async (jobId: string, seconds = 20, id = server.id) =>
    (await api.waitFor(`/servers/${id}/exec/${jobId}`, ENDS, seconds)).body as Record<string, any>;
  const run = async (command: string, id = server.id) => result(await begin(command, id), 20, id);
  const programs = async (id = server.id) =>
    (await run(`for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null`, id)).stdout as string;

  test('answers a job, then what came of it', async () => {
    const accepted = (
      await api.post(`/servers/${server.id}/exec`, { command: 'echo out; echo err >&2; exit 3' })
    ).expect(202).body;
    expect(accepted).toEqual({
      jobId: expect.stringMatching(/^job_/),
      status: 'QUEUED',
      operationId: expect.stringMatching(/^op_/),
    });
    const exec = await result(accepted.jobId as string);
    expect(exec).toMatchObject({
      jobId: accepted.jobId,
      status: 'DONE',
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
      reason: null,
    });
    for (const moment of ['createdAt', 'startedAt', 'finishedAt']) expect(exec[moment]).toMatch(/Z$/);
    const events = await activity(api, server.id);
    expect(events).toContainEqual(expect.objectContaining({ event: 'server:exec.create' }));
    expect(events).toContainEqual({
      ...events.at(-1),
      event: 'server:exec.finish',
      properties: { jobId: accepted.jobId, status: 'DONE', exitCode: 3 },
    });
  });

  test.each([
    ['exit 0', 0],
    ['exit 255', 255],
    ['kill -9 $$', 137],
    ['kill -TERM $$', 143],
    ['no-such-program', 127],
    ['/etc/passwd', 126],
    ['(', 2],
  ])('%s: exit code %i', async (command, exitCode) => {
    expect(await run(command)).toMatchObject({ status: 'DONE', exitCode });
  });

  test('runs as the service’s user, at home, with its variables and nothing of the platform’s', async () => {
    await setVariable(api, server.id, 'STARTUP_FILE', 'it is "quoted" $HOME');
    const { stdout } = await run('id -u; pwd; env | sort');
    expect(stdout).toMatch(/^1000\n\/home\/container\n/);
    expect(stdout).toContain(`SERVER_UUID=${server.uuid}\n`);
    expect(stdout).toContain('STARTUP_FILE=it is "quoted" $HOME\n');
    expect(stdout).not.toContain('BERTH_');
    await setVariable(api, server.id, 'STARTUP_FILE', 'main.py');
  });

  test('standard input is at its end', async () => {
    expect(await run('cat; echo ended')).toMatchObject({ exitCode: 0, stdout: 'ended\n' });
  });

  test('keeps a MiB of each output, whole characters, whatever bytes there are', async () => {
    const exec = await run(
      `head -c ${MB - 1} /dev/zero | tr '\\0' a; printf '\\303\\244b'; head -c 300 /dev/urandom >&2`,
    );
    expect(exec).toMatchObject({ status: 'DONE', exitCode: 0, truncated: true });
    expect(exec.stdout).toBe('a'.repeat(MB - 1));
    const exact = await run(`head -c ${MB} /dev/zero | tr '\\0' a`);
    expect(exact).toMatchObject({ truncated: false });
    expect(exact.stdout).toHaveLength(MB);
    expect(await run('head -c 40000000 /dev/zero')).toMatchObject({ status: 'DONE', exitCode: 0, truncated: true });
  });

  test('needs a service that runs', async () => {
    const still = await runningServer(api);
    await powered(api, still.id, 'stop');
    const answer = (await api.post(`/servers/${still.id}/exec`, { command: 'true' })).expect(409);
    expect(answer.body).toMatchObject({ code: 'state_conflict', currentStatus: 'STOPPED' });
    (await tenant.readOnly.post(`/servers/${server.id}/exec`, { command: 'true' })).expect(403);
    (await api.post(`/servers/${server.id}/exec`, { command: '' })).expect(400);
    (await api.post(`/servers/${server.id}/exec`, { command: 'a\0b' })).expect(400);
    (await api.post(`/servers/${server.id}/exec`, { command: 'ä'.repeat(8193) })).expect(400);
  });

  test('four at once, the fifth has to wait', async () => {
    const jobs = await Promise.all([1, 2, 3, 4].map(() => begin('sleep 2; echo done')));
    const refused = (await api.post(`/servers/${server.id}/exec`, { command: 'true' })).expect(429);
    expect(refused.body.code).toBe('too_many_commands');
    for (const jobId of jobs) expect(await result(jobId)).toMatchObject({ status: 'DONE', stdout: 'done\n' });
    expect(await run('true')).toMatchObject({ status: 'DONE' });
  });

  test('the history is newest first and without outputs', async () => {
    const jobs = [await run('echo 1'), await run('echo 2')].map(({ jobId }) => jobId as string);
    const list = (await api.get(`/servers/${server.id}/exec`, { query: { limit: '2' } })).expect(200);
    expect(list.body.map(({ jobId }: { jobId: string }) => jobId)).toEqual(jobs.reverse());
    expect(list.body[0]).not.toHaveProperty('stdout');
    expect(list.header('link')).toContain('rel="next"');
    const stranger = await hosting.berth.makeAccount();
    (await stranger.api.get(`/servers/${server.id}/exec/${jobs[0]}`)).expect(404);
  });

  test('what takes longer than a minute is ended, with all it started', async () => {
    const jobId = await begin('echo begun; (setsid sleep 7101 &); sleep 7102 & sleep 7103');
    const exec = await result(jobId, 60).catch(() => result(jobId, 30));
    expect(exec).toMatchObject({ status: 'TIMEOUT', exitCode: null, stdout: 'begun\n' });
    const took = new Date(exec.finishedAt as string).getTime() - new Date(exec.startedAt as string).getTime();
    expect(took).toBeGreaterThan(59_000);
    expect(took).toBeLessThan(66_000);
    expect(await programs()).not.toMatch(/^sleep/m);
  });

  test('is not run again when the worker dies in the middle, and nothing of it goes on', async () => {
    const jobId = await begin('echo x >> runs; (setsid sleep 7201 &); sleep 7202');
    await until(
      'it runs',
      async () => (await api.get(`/servers/${server.id}/exec/${jobId}`)).body.status === 'RUNNING',
    );
    await until('it has begun', async () => /^sleep 7202/m.test(await programs()));
    const worker = hosting.berth.process('worker');
    await worker.kill();
    await worker.start();
    expect(await result(jobId, 40)).toMatchObject({ status: 'FAILED', reason: 'interrupted', exitCode: null });
    expect(await run('cat runs')).toMatchObject({ exitCode: 0, stdout: 'x\n', stderr: '' });
    expect(await programs()).not.toMatch(/^sleep/m);
  });

  test('the end of the service ends it', async () => {
    const own = await runningServer(api);
    const jobId = await begin('sleep 7301', own.id);
    await until('it has begun', async () => /^sleep 7301/m.test(await programs(own.id)));
    await powered(api, own.id, 'kill');
    expect(await result(jobId, 20, own.id)).toMatchObject({ status: 'DONE', exitCode: expect.any(Number) });
  });
});
