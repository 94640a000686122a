import { engineName } from '../../src/modules/servers/server.operations.js';
import type { Api } from '../support/api.js';
import { until } from '../support/until.js';
import { GitServer } from './support/git-server.js';
import {
  activity,
  createServer,
  ended,
  Hosting,
  onEngine,
  power,
  powered,
  reach,
  type Server,
  setVariable,
} from './support/hosting.js';
import { Program } from './support/program.js';

/** Answers what version of itself it is, and the notes it keeps in its folder. */
function program(version: string): string {
  return `
import http.server, os, signal
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith('/note/'):
            with open('notes', 'a') as notes: notes.write(self.path[6:] + ' ')
        notes = open('notes').read() if os.path.exists('notes') else ''
        body = ('${version}|' + notes).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(('0.0.0.0', int(os.environ['SERVER_PORT'])), Handler).serve_forever()
`;
}

interface Installation {
  exitCode: number | null;
  log: string;
  finishedAt: string | null;
}

onEngine('installation', () => {
  let hosting: Hosting;
  let git: GitServer;
  let api: Api;
  let server: Server;

  beforeAll(async () => {
    hosting = await Hosting.start({ roles: ['api', 'node'], env: { INSTALL_TIMEOUT_SECONDS: '10' } });
    api = (await hosting.berth.makeAccount()).api;
    git = await GitServer.start(hosting.gateway);
    await git.commit('main', { 'main.py': program('one') });
    await git.commit('next', { 'main.py': program('two'), 'extra.txt': 'extra' });
  });

  afterAll(async () => {
    await hosting?.close();
    await git?.close();
  });

  async function reinstall(): Promise<string> {
    return ((await api.post(`/servers/${server.id}/reinstall`)).expect(202).body as { operationId: string })
      .operationId;
  }

  async function installation(id: string): Promise<Installation> {
    return (await api.get(`/servers/${id}/installation`)).expect(200).body as Installation;
  }

  const answers = (path = ''): Promise<string> => new Program(server).at(path);

  test('a first installation that fails leaves nothing in the engine; mended and tried again, it runs', async () => {
    server = await createServer(api);
    await setVariable(api, server.id, 'INSTALL_COMMAND', 'echo "no luck" >&2; exit 3');
    await hosting.add(['worker'], { INSTALL_TIMEOUT_SECONDS: '10' });
    const failed = await reach(api, server.id, 'INSTALL_FAILED');
    expect(failed.lastOperation).toMatchObject({
      type: 'server.create',
      status: 'FAILED',
      error: { code: 'install_failed' },
    });
    expect(await installation(server.id)).toMatchObject({
      exitCode: 3,
      log: expect.stringContaining('no luck') as string,
    });
    expect(await hosting.inEngine()).toEqual([]);
    await setVariable(api, server.id, 'INSTALL_COMMAND', '');
    (await api.post(`/servers/${server.id}/retry`)).expect(202);
    await reach(api, server.id, 'RUNNING');
    await hosting.expectExactly([server.id]);
    expect(await answers()).toContain('Hello');
  });

  test('clones the repository in place of the starter, and the program in it runs', async () => {
    await setVariable(api, server.id, 'GIT_REPOSITORY', git.url);
    expect((await ended(api, await reinstall())).body).toMatchObject({ status: 'DONE' });
    await reach(api, server.id, 'RUNNING');
    expect(await answers()).toBe('one|');
    expect(git.asked.some((path) => path.startsWith('/program.git/'))).toBe(true);
    expect(await installation(server.id)).toMatchObject({
      exitCode: 0,
      log: expect.stringMatching(/Cloning/) as string,
    });
  });

  test('takes the branch that is set, and keeps what the program wrote', async () => {
    expect(await answers('note/first')).toBe('one|first ');
    await setVariable(api, server.id, 'GIT_BRANCH', 'next');
    expect((await ended(api, await reinstall())).body).toMatchObject({ status: 'DONE' });
    expect(await answers()).toBe('two|first ');
  });

  test('runs the install command in the clone, as the program would run', async () => {
    await setVariable(api, server.id, 'INSTALL_COMMAND', 'id -u; cat extra.txt; echo "second" | tr s S >> notes');
    expect((await ended(api, await reinstall())).body).toMatchObject({ status: 'DONE' });
    expect(await installation(server.id)).toMatchObject({
      exitCode: 0,
      log: expect.stringMatching(/\n1000\nextra/) as string,
    });
    expect(await answers()).toBe('two|first Second\n');
  });

  test('a service that stood still does so after its reinstallation', async () => {
    await setVariable(api, server.id, 'INSTALL_COMMAND', '');
    await powered(api, server.id, 'stop');
    expect((await ended(api, await reinstall())).body).toMatchObject({ status: 'DONE' });
    await reach(api, server.id, 'STOPPED');
    expect((await hosting.engine.getInstance(engineName(server.id))).state).toBe('stopped');
    await powered(api, server.id, 'start');
    expect(await answers()).toBe('two|first Second\n');
  });

  test('an install command that fails leaves INSTALL_FAILED, a log to read and the data', async () => {
    await setVariable(api, server.id, 'INSTALL_COMMAND', 'echo "what is wrong: $((6 * 7))"; exit 9');
    expect((await ended(api, await reinstall())).body).toMatchObject({
      status: 'FAILED',
      error: { code: 'install_failed' },
    });
    await reach(api, server.id, 'INSTALL_FAILED');
    expect(await installation(server.id)).toMatchObject({
      exitCode: 9,
      log: expect.stringContaining('what is wrong: 42') as string,
      finishedAt: expect.any(String) as string,
    });
    (await api.post(`/servers/${server.id}/power`, { signal: 'start' })).expect(409);
    expect(await hosting.inEngine()).toEqual([`volume ${engineName(server.id)}`]);
    await setVariable(api, server.id, 'INSTALL_COMMAND', '');
    const { operationId } = (await api.post(`/servers/${server.id}/retry`)).expect(202).body as { operationId: string };
    expect((await ended(api, operationId)).body).toMatchObject({ status: 'DONE' });
    await reach(api, server.id, 'RUNNING');
    expect(await answers()).toBe('two|first Second\n');
    (await api.post(`/servers/${server.id}/retry`)).expect(409);
    expect((await activity(api, server.id)).map(({ event }) => event)).toEqual(
      expect.arrayContaining(['server:reinstall.fail', 'server:retry', 'server:install.complete']),
    );
  });

  test('a repository that is not there fails the installation, and says so', async () => {
    await setVariable(api, server.id, 'GIT_REPOSITORY', `${git.url}-other`);
    expect((await ended(api, await reinstall())).body).toMatchObject({
      status: 'FAILED',
      error: { code: 'install_failed' },
    });
    const { exitCode, log } = await installation(server.id);
    expect(exitCode).not.toBe(0);
    expect(log).toMatch(/not found/i);
    await setVariable(api, server.id, 'GIT_REPOSITORY', git.url);
    (await api.post(`/servers/${server.id}/retry`)).expect(202);
    await reach(api, server.id, 'RUNNING');
  });

  test('files of the machine are no repositories, whatever leads to them', async () => {
    const set = (value: string) => api.patch(`/servers/${server.id}/variables/GIT_REPOSITORY`, { value });
    for (const value of ['file:///etc', '/etc', 'ssh://git@host/x', 'ext::sh -c id', '--upload-pack=x', 'git@host:x'])
      expect([value, (await set(value)).status]).toEqual([value, 400]);
  });

  test('an installation that takes too long is ended at its deadline', async () => {
    git.stall();
    const asked = Date.now();
    expect((await ended(api, await reinstall(), 40)).body).toMatchObject({
      status: 'FAILED',
      error: { code: 'install_timeout' },
    });
    expect(Date.now() - asked).toBeGreaterThan(9000);
    git.answerAgain();
    await reach(api, server.id, 'INSTALL_FAILED');
    expect(await hosting.inEngine()).toEqual([`volume ${engineName(server.id)}`]);
    (await api.post(`/servers/${server.id}/retry`)).expect(202);
    await reach(api, server.id, 'RUNNING');
  });

  test('kill cuts an installation off', async () => {
    git.stall();
    const before = git.asked.length;
    const operationId = await reinstall();
    await until('the clone', () => git.asked.length > before, 40_000);
    await power(api, server.id, 'kill');
    expect((await ended(api, operationId)).body).toMatchObject({
      status: 'FAILED',
      error: { code: 'install_interrupted' },
    });
    git.answerAgain();
    await reach(api, server.id, 'INSTALL_FAILED');
  });

  test('a service deleted while it installs is gone without a trace', async () => {
    const made = await createServer(api);
    await setVariable(api, made.id, 'INSTALL_COMMAND', 'sleep 60');
    (await api.delete(`/servers/${made.id}`)).expect(204);
    (await api.delete(`/servers/${server.id}`)).expect(204);
    await hosting.untilQuiet();
    await hosting.expectExactly([]);
  });
});
