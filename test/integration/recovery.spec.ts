import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../support/until.js';

/** How `up` and `down` find daemons whose pid files are lost; what they find they end, as root. */

interface Recovery {
  recoverRecords(layout: Record<string, string>): void;
}

const folder = mkdtempSync(join(tmpdir(), 'berth-recovery-'));
const run = join(folder, 'run');
const layout = { kind: 'test', state: folder, data: folder, run, log: folder, secrets: folder, images: folder };
const children: ChildProcess[] = [];
let recover: () => void;

beforeAll(async () => {
  const script: string = '../../scripts/lib/recovery.mjs';
  const { recoverRecords } = (await import(script)) as Recovery;
  recover = () => recoverRecords(layout);
});
beforeEach(() => mkdirSync(run));
afterEach(async () => {
  for (const child of children.splice(0)) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  rmSync(run, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A process that carries the marks of a daemon. */
async function claiming(service: string, ...before: string[]): Promise<number> {
  const env = { BERTH_STACK: folder, BERTH_SERVICE: service, BERTH_SERVICE_HASH: 'hash', PATH: process.env.PATH };
  const [command = '', ...args] = [...before, 'sleep', '600'];
  const child = spawn(command, args, { env, stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  return child.pid!;
}

/** Pids by name, as they are written down. */
function records(): Record<string, number> {
  const read = (file: string) =>
    JSON.parse(readFileSync(join(run, file), 'utf8')) as { name: string; identity: { pid: number } };
  return Object.fromEntries(
    readdirSync(run)
      .map(read)
      .map(({ name, identity }) => [name, identity.pid]),
  );
}

test('a daemon is found by its marks, and a second one that claims to be it is not', async () => {
  const pid = await claiming('caddy');
  recover();
  expect(records()).toEqual({ caddy: pid });
  await claiming('caddy');
  recover();
  expect(records()).toEqual({ caddy: pid });
});

test('a program in namespaces of its own is none, whatever it claims', async () => {
  const pid = await claiming('berth', 'unshare', '--user', '--pid', '--fork', '--kill-child');
  await until('the program in there', () => {
    const inner = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return inner !== '' && readFileSync(`/proc/${inner}/cmdline`, 'utf8').startsWith('sleep');
  });
  recover();
  expect(records()).toEqual({});
});

test('names that no daemon has are not taken', async () => {
  for (const name of ['../stranger', 'stranger']) await claiming(name);
  recover();
  expect([records(), readdirSync(folder)]).toEqual([{}, ['run']]);
});
