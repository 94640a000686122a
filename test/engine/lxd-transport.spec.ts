import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createEngine } from '../../src/drivers/engine/engine.factory.js';
import { EngineProxy } from '../support/engine-proxy.js';
import { refuses } from './support/engine-contract.js';
import { hasLxd, LxdTarget } from './support/lxd-target.js';
import { PROGRAMS } from './support/programs.js';
import { until } from '../support/until.js';

const ADDRESS = '127.0.0.1:28443';

(hasLxd ? describe : describe.skip)('an engine over HTTPS', () => {
  const target = new LxdTarget(3);
  let folder = '';
  let fingerprint = '';
  let before = '';

  beforeAll(async () => {
    await target.open();
    folder = await mkdtemp(join(tmpdir(), 'berth-tls-'));
    for (const name of ['client', 'stranger']) {
      const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)];
      const kind = [
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        `/CN=${name}`,
      ];
      await promisify(execFile)('openssl', ['req', '-x509', ...kind, ...files]);
    }
    type ServerInfo = { environment: { certificate: string }; config: Record<string, string> };
    const { metadata } = await target.raw<ServerInfo>('GET', '/1.0');
    await writeFile(join(folder, 'server.crt'), metadata.environment.certificate);
    before = metadata.config['core.https_address'] ?? '';
    await target.raw('PATCH', '/1.0', { config: { 'core.https_address': ADDRESS } });
    const certificate = await readFile(join(folder, 'client.crt'), 'utf8');
    const body = { type: 'client', name: 'berth-test', certificate: certificate.replace(/-----[A-Z ]+-----|\s/g, '') };
    await target.raw('POST', '/1.0/certificates', body);
    const known = await target.raw<{ name: string; fingerprint: string }[]>('GET', '/1.0/certificates?recursion=1');
    fingerprint = known.metadata.find(({ name }) => name === 'berth-test')?.fingerprint ?? '';
  }, 600_000);

  afterAll(async () => {
    await target.raw('DELETE', `/1.0/certificates/${fingerprint}`);
    await target.raw('PATCH', '/1.0', { config: { 'core.https_address': before } });
    await rm(folder, { recursive: true, force: true });
    await target.close();
  });

  const remote = (client: string, ca: string) =>
    createEngine({
      ...target.options,
      url: `https://${ADDRESS}`,
      clientCertFile: join(folder, `${client}.crt`),
      clientKeyFile: join(folder, `${client}.key`),
      caFile: join(folder, ca),
    });

  it('is driven and watched with a client certificate', async () => {
    const engine = remote('client', 'server.crt');
    expect((await engine.info()).kind).toMatch(/lxd|incus/);
    const seen: string[] = [];
    const abort = new AbortController();
    let connected = false;
    engine.watch(
      ({ instance, kind }) => seen.push(`${instance} ${kind}`),
      () => (connected = true),
      abort.signal,
    );
    await until('the watch stands', () => connected);
    const { name } = await target.make(PROGRAMS.serves);
    await engine.startInstance(name);
    await until('the start is told', () => seen.includes(`${name} started`));
    abort.abort();
    await engine.close();
  });

  it('says when its events are being missed, and when they come again', async () => {
    const proxy = await EngineProxy.start(target.options.url);
    const engine = createEngine({ ...target.options, url: proxy.url });
    const told: string[] = [];
    const abort = new AbortController();
    engine.watch(
      () => undefined,
      () => told.push('connected'),
      abort.signal,
      () => told.push('broken'),
    );
    await until('the watch stands', () => told.length === 1);
    proxy.away();
    await until('that it is told', () => told.length === 2);
    await proxy.back();
    await until('the watch stands again', () => told.length === 3);
    abort.abort();
    await engine.close();
    proxy.close();
    expect(told).toEqual(['connected', 'broken', 'connected']);
  });

  it('is not driven by a stranger, nor believed when it is another', async () => {
    const stranger = remote('stranger', 'server.crt');
    await expect(stranger.listInstances()).rejects.toThrow();
    await stranger.close();
    const imposed = remote('client', 'stranger.crt');
    await refuses(imposed.info(), 'unavailable');
    await imposed.close();
  });

  it('needs all three files', () => {
    expect(() => createEngine({ ...target.options, url: 'https://127.0.0.1:1' })).toThrow(/client certificate/);
  });
});

describe('an engine that misbehaves', () => {
  let server: Server;
  let folder = '';
  let answer: (path: string) => { status: number; body: string } | null = () => null;
  const open = () => createEngine({ url: `unix:${join(folder, 'socket')}`, project: 'p', pool: 'p' });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-fake-'));
    server = createServer((request, response) => {
      const given = answer(request.url ?? '');
      if (given) response.writeHead(given.status, { 'content-type': 'application/json' }).end(given.body);
    });
    await new Promise<void>((resolve) => server.listen(join(folder, 'socket'), resolve));
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const failure = (status: number, error: string) => ({
    status,
    body: JSON.stringify({ type: 'error', error, error_code: status }),
  });
  const operation = (status_code: number, err = '') => ({
    status: 200,
    body: JSON.stringify({ type: 'sync', metadata: { id: 'x', status_code, err, metadata: null } }),
  });
  const begun = {
    status: 202,
    body: JSON.stringify({ type: 'async', operation: '/1.0/operations/x', metadata: {} }),
  };
  const instance = (status: string, last_used_at = '') => ({
    status: 200,
    body: JSON.stringify({ type: 'sync', metadata: { name: 'a', status, config: {}, devices: {}, last_used_at } }),
  });

  it('is away when it does not answer in time', async () => {
    answer = () => null;
    const engine = open();
    const began = Date.now();
    await refuses(engine.info(), 'unavailable');
    expect(Date.now() - began).toBeLessThan(15_000);
    await engine.close();
  });

  it('never has a variable repeated in an error', async () => {
    const engine = open();
    answer = () => failure(500, 'Failed to set LXC config: lxc.environment=TOKEN=topsecret value\nmore topsecret');
    const error = await refuses(engine.startInstance('a'), 'failed');
    answer = () => failure(400, 'Invalid value for environment.TOKEN="topsecret"');
    const other = await refuses(engine.setEnvironment('a', { TOKEN: 'topsecret' }), 'invalid');
    for (const { message, cause } of [error, other]) expect(`${message} ${String(cause)}`).not.toContain('topsecret');
    await engine.close();
  });

  it('has its operations believed by their status, not by the answer to the wait', async () => {
    const engine = open();
    answer = (path) =>
      path.includes('/operations/')
        ? operation(400, 'it went wrong')
        : path.includes('/state')
          ? begun
          : instance('Stopped');
    await refuses(engine.startInstance('a'), 'failed');
    answer = (path) =>
      path.includes('/operations/') ? operation(103) : path.includes('/state') ? begun : instance('Stopped');
    await refuses(engine.startInstance('a'), 'timeout');
    await engine.close();
  });

  it('is asked again when an operation has vanished', async () => {
    const engine = open();
    const vanished = (status: string) => (path: string) =>
      path.includes('/operations/') ? failure(404, 'not found') : path.includes('/state') ? begun : instance(status);
    answer = vanished('Stopped');
    await engine.stopInstance('a', 1000);
    answer = vanished('Running');
    await refuses(engine.killInstance('a'), 'failed');
    await engine.close();
  });

  it.each([
    { ago: 1, asked: 2, ends: 'stopped' },
    { ago: 60, asked: 1, ends: 'timeout' },
  ])('is asked to stop $asked times what was started $ago s ago and did not hear', async ({ ago, asked, ends }) => {
    const engine = open();
    const startedAt = new Date(Date.now() - ago * 1000).toISOString();
    let times = 0;
    answer = (path) => {
      if (path.includes('/operations/')) {
        return times === 1 ? operation(400, 'status is "Running": context deadline exceeded') : operation(200);
      }
      if (!path.includes('/state')) return instance('Running', startedAt);
      times++;
      return begun;
    };
    const end = engine.stopInstance('a', 1000).then(
      () => 'stopped',
      ({ code }: { code: string }) => code,
    );
    expect(await end).toBe(ends);
    expect(times).toBe(asked);
    await engine.close();
  });

  it('is asked again for a file where the process that reads it was about to end', async () => {
    const engine = open();
    const told = 'dial unix /proc/self/fd/9/forkfile.sock: connect: no such file or directory';
    const record = { phase: 'install', code: 0, signal: null, outOfMemory: false, at: '2026-01-01T00:00:00Z' };
    let times = 0;
    answer = () => (++times < 3 ? failure(500, told) : { status: 200, body: JSON.stringify(record) });
    expect(await engine.installExit('a')).toMatchObject({ phase: 'install', code: 0 });
    times = Number.NEGATIVE_INFINITY;
    await refuses(engine.installExit('a'), 'failed');
    await engine.close();
  });

  it('refuses a pool that does not hold volumes to their size', async () => {
    const engine = open();
    answer = () => ({ status: 200, body: JSON.stringify({ type: 'sync', metadata: { name: 'p', driver: 'dir' } }) });
    await refuses(engine.ensurePool(), 'invalid');
    answer = (path) =>
      path.includes('storage-pools')
        ? failure(404, 'Storage pool not found')
        : {
            status: 200,
            body: JSON.stringify({
              type: 'sync',
              metadata: {
                environment: {
                  server: 'lxd',
                  storage_supported_drivers: [{ Name: 'dir' }],
                  server_version: '5',
                  server_name: 'a',
                },
              },
            }),
          };
    await refuses(engine.ensurePool(), 'invalid');
    await engine.close();
  });

  it('may speak Incus', async () => {
    const engine = open();
    answer = () => ({
      status: 200,
      body: JSON.stringify({
        type: 'sync',
        metadata: { environment: { server: 'incus', server_version: '6.0.0', server_name: 'node1' } },
      }),
    });
    expect(await engine.info()).toEqual({ kind: 'incus', version: '6.0.0', member: 'node1' });
    await engine.close();
  });
});
