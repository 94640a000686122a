import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BenchBerth, median, until } from './support/berth.mjs';
import { RawMachines } from './support/raw-machines.mjs';

const ROUNDS = 5;
const WANTED = { image: 'debian/12', cpu: 2, ramMb: 512, diskGb: 4 };

export const name = 'POST /lxc to RUNNING and to the first login against the engine alone';

export async function run(ctx) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-ssh-'));
  const file = join(folder, 'id');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  const sshKey = readFileSync(`${file}.pub`, 'utf8').trim();
  const berth = await BenchBerth.start(ctx.env);
  const raw = new RawMachines(ctx.env);
  try {
    await raw.learn((await hosted(berth, { name: 'pattern', sshKey })).id);
    const times = { running: { ours: [], raw: [] }, login: { ours: [], raw: [] } };
    for (let round = 0; round < ROUNDS; round++) {
      let began = performance.now();
      const { id } = await hosted(berth, { name: `machine-${round}`, sshKey });
      times.running.ours.push(since(began));
      const redirection = { targetPort: 22, protocol: 'tcp' };
      const { publicPort } = await berth.call('POST', `/lxc/${id}/ports`, redirection);
      await until(() => login(file, publicPort));
      times.login.ours.push(since(began));
      began = performance.now();
      const launched = await raw.launch(sshKey);
      times.running.raw.push(since(began));
      const port = await raw.redirect(launched);
      await until(() => login(file, port));
      times.login.raw.push(since(began));
    }
    return [row('to RUNNING', times.running), row('to the first SSH login', times.login)];
  } finally {
    await raw.removeAll();
    await berth.stop();
    rmSync(folder, { recursive: true });
  }
}

const since = (began) => (performance.now() - began) / 1000;

function row(what, { ours, raw }) {
  const [own, yardstick] = [median(ours), median(raw)];
  return { what, unit: 's', ours: own, yardstick, ratio: own / yardstick, target: '<= 1.3' };
}

async function hosted(berth, wanted) {
  const { id } = await berth.call('POST', '/lxc', { ...WANTED, ...wanted });
  const machine = await berth.call('GET', `/lxc/${id}?waitFor=RUNNING,INSTALL_FAILED&timeout=60`);
  if (machine.status !== 'RUNNING') throw new Error(`the machine ended up ${JSON.stringify(machine.lastOperation)}`);
  return machine;
}

/** Whether root gets in. */
function login(file, port) {
  const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'ConnectTimeout=2'];
  const args = [
    ...options.flatMap((option) => ['-o', option]),
    '-i',
    file,
    '-p',
    String(port),
    'root@127.0.0.1',
    'true',
  ];
  return new Promise((resolve) => execFile('ssh', args, (error) => resolve(error === null)));
}
