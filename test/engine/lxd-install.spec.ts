import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { promisify } from 'node:util';
import type { Overrides } from './support/engine-target.js';
import { hasLxd, LxdTarget } from './support/lxd-target.js';
import { type Program } from './support/programs.js';
import { until } from '../support/until.js';

const target = new LxdTarget(2);
const { engine } = target;
const run = promisify(execFile);

/** Nothing is put in place: the install step has to find the code itself. */
const NOTHING: Program = { source: '', installCommand: '', behaviour: {} };

async function install(overrides: Overrides) {
  const spec = await target.make(NOTHING, overrides);
  await engine.startInstance(spec.name);
  const exit = await until('the installation ends', () => engine.installExit(spec.name), 60_000);
  return { ...spec, exit };
}

(hasLxd ? describe : describe.skip)('the install step', () => {
  let folder = '';
  let server: Server;
  let repository = '';
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.test', ...args], { cwd: join(folder, 'work') });

  beforeAll(async () => {
    await target.open();
    await target.importImages(['nodejs', 'python', 'java']);
    folder = await mkdtemp(join(tmpdir(), 'berth-git-'));
    await run('git', ['init', '--quiet', '--initial-branch=main', join(folder, 'work')]);
    await publish('one', 'main');
    server = createServer((request, response) => {
      const file = join(folder, normalize(new URL(request.url ?? '', 'http://host').pathname));
      readFile(file).then(
        (content) => response.end(content),
        () => response.writeHead(404).end(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, target.network.gateway, resolve));
    repository = `http://${target.network.gateway}:${(server.address() as AddressInfo).port}/repo.git`;
  }, 900_000);
  afterEach(() => target.clean());
  afterAll(async () => {
    server?.close();
    server?.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
    await target.close();
  });

  /** Commits a program that prints `text`, and offers it as a plain file server can. */
  async function publish(text: string, branch: string): Promise<void> {
    await git('checkout', '--quiet', '-B', branch);
    await writeFile(join(folder, 'work', 'index.js'), `console.log('version ${text}'); setInterval(() => {}, 1000);\n`);
    await git('add', '.');
    await git('commit', '--quiet', '--message', text);
    await rm(join(folder, 'repo.git'), { recursive: true, force: true });
    await run('git', ['clone', '--quiet', '--bare', join(folder, 'work'), join(folder, 'repo.git')]);
    await run('git', ['update-server-info'], { cwd: join(folder, 'repo.git') });
  }

  const prints = (name: string, text: string) =>
    until(`it prints ${text}`, async () => (await engine.consoleLog(name)).includes(text), 30_000);

  it.each([
    ['nodejs', 'index.js', 'Node.js', 256],
    ['python', 'main.py', 'Python', 256],
    ['java', 'Main.java', 'Java', 512],
  ])('writes a starter for %s that serves and ends cleanly', async (image, file, word, memoryMb) => {
    const { name, exit, network } = await install({
      image,
      environment: { STARTUP_FILE: file, SERVER_PORT: '3456', SERVER_MEMORY: String(memoryMb) },
      limits: { memoryMb, cpuPercent: 200, processes: 200 },
    });
    expect(exit.code).toBe(0);
    await prints(name, 'Ready on port 3456');
    const answer = await (await fetch(`http://${network.address}:3456/`)).text();
    expect(answer).toContain(`Hello from your ${word} service`);
    await engine.stopInstance(name, 15_000);
    expect(await engine.lastExit(name)).toMatchObject({ code: 0, signal: null, phase: 'run' });
  });

  it.each([
    ['nodejs', 'npm --version && npx --version && node --version'],
    [
      'python',
      'pip --version && python -m venv v && v/bin/pip --version && pip install --user --no-index . ; test -d v',
    ],
    ['java', 'javac -version && java -version'],
  ])('has the tools of %s', async (image, command) => {
    const { exit } = await install({ image, environment: { INSTALL_COMMAND: command }, volumeMb: 128 });
    expect(exit.code).toBe(0);
  });

  it('clones, and a reinstall fetches what is new without losing other files', async () => {
    const first = await install({
      environment: { GIT_REPOSITORY: repository, INSTALL_COMMAND: 'echo mine > notes.txt' },
    });
    expect(first.exit.code).toBe(0);
    await prints(first.name, 'version one');
    await engine.deleteInstance(first.name);

    await publish('two', 'main');
    const environment = { GIT_REPOSITORY: repository, INSTALL_COMMAND: 'cat notes.txt' };
    const again = { ...first, environment: { ...first.environment, ...environment } };
    await engine.createInstance(again);
    await engine.startInstance(again.name);
    await prints(again.name, 'version two');
    expect(await engine.consoleLog(again.name)).toContain('mine');
  });

  it('takes a branch', async () => {
    await publish('of the branch', 'next');
    await publish('of the trunk', 'main');
    const { name } = await install({ environment: { GIT_REPOSITORY: repository, GIT_BRANCH: 'next' } });
    await prints(name, 'version of the branch');
  });

  it('lays a repository over files that are there, and keeps the others', async () => {
    const first = await install({ environment: { INSTALL_COMMAND: 'echo own > own.txt; echo old > index.js' } });
    await engine.deleteInstance(first.name);
    const environment = { GIT_REPOSITORY: repository, INSTALL_COMMAND: 'cat own.txt; ls -a' };
    await engine.createInstance({ ...first, environment: { ...first.environment, ...environment } });
    await engine.startInstance(first.name);
    await prints(first.name, 'version ');
    const log = await engine.consoleLog(first.name);
    expect(log).toContain('own');
    expect(log).not.toContain('.berth-clone');
  });

  it.each([
    ['a repository that is not there', () => ({ GIT_REPOSITORY: repository.replace('repo.git', 'none.git') })],
    ['a branch that is not there', () => ({ GIT_REPOSITORY: repository, GIT_BRANCH: 'no-such-branch' })],
    ['a protocol that is not allowed', () => ({ GIT_REPOSITORY: 'file:///home/container' })],
    ['a program for a protocol', () => ({ GIT_REPOSITORY: 'ext::sh -c id' })],
    ['an option for a repository', () => ({ GIT_REPOSITORY: '--upload-pack=id' })],
    ['an option for a branch', () => ({ GIT_REPOSITORY: repository, GIT_BRANCH: '--upload-pack=id' })],
  ])('fails for %s', async (_, environment) => {
    const { exit, name } = await install({ environment: { GIT_ALLOW_PROTOCOL: 'http:https', ...environment() } });
    expect(exit.code).not.toBe(0);
    expect(await engine.consoleLog(name)).not.toContain('uid=');
  });

  it('installs again where it failed, and then runs', async () => {
    const { name, exit, environment } = await install({ environment: { INSTALL_COMMAND: 'exit 7' } });
    expect(exit.code).toBe(7);
    await target.untilStopped(name);
    await engine.setEnvironment(name, { ...environment, INSTALL_COMMAND: 'true' });
    await engine.startInstance(name);
    await prints(name, 'Ready');
    expect(await engine.installExit(name)).toMatchObject({ code: 0 });
  });
});
