import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Api } from '../../support/api.js';
import { until } from '../../support/until.js';

const run = promisify(execFile);

export interface Machine {
  id: string;
  status: string;
  ipv4: string;
  cpu: number;
  ramMb: number;
  diskGb: number;
  ports: Redirection[];
  lastOperation: { id: string; type: string; status: string; error: { code: string } | null };
}

export interface Redirection {
  id: string;
  targetPort: number;
  protocol: string;
  publicPort: number;
  address: string;
  status: string;
}

/** How a program ended, and what it said. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** A key pair of OpenSSH's own making, and logins with it. */
export class SshKey {
  private readonly folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'));
  private readonly file = join(this.folder, 'id');

  constructor() {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'e2e', '-f', this.file]);
  }

  get public(): string {
    return readFileSync(`${this.file}.pub`, 'utf8').trim();
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs a command as root of the machine behind this port; `before` is put before the client's own command. */
  async ssh(
    { address, publicPort }: Redirection,
    command: string,
    more: string[] = [],
    before: string[] = [],
  ): Promise<Ended> {
    const options = {
      BatchMode: 'yes',
      ConnectTimeout: '10',
      IdentitiesOnly: 'yes',
      LogLevel: 'ERROR',
      StrictHostKeyChecking: 'no',
      UserKnownHostsFile: '/dev/null',
    };
    const args = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    const [file, ...rest] = [
      ...before,
      'ssh',
      ...more,
      ...args,
      '-i',
      this.file,
      '-p',
      String(publicPort),
      `root@${address}`,
      command,
    ];
    try {
      return { code: 0, ...(await run(file, rest, { timeout: 60_000 })) };
    } catch (error) {
      const { code, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
      return { code: typeof code === 'number' ? code : -1, stdout, stderr };
    }
  }

  /** What the command printed, once the machine lets anybody in. */
  async untilIn(port: Redirection, command = 'true', before: string[] = []): Promise<string> {
    let last: Ended | null = null;
    await until('a login', async () => (last = await this.ssh(port, command, [], before)).code === 0, 60_000).catch(
      (cause: unknown) => {
        throw new Error(`no login: ${last?.stderr}`, { cause });
      },
    );
    return last!.stdout.trim();
  }
}

/** Makes a machine; it is INSTALLING when this answers. */
export async function createMachine(api: Api, sshKey: string, wanted: object = {}): Promise<Machine> {
  const small = { name: 'a machine', image: 'debian/12', cpu: 1, ramMb: 512, diskGb: 2, sshKey };
  return (await api.post('/lxc', { ...small, ...wanted })).expect(201).body as Machine;
}

/** Waits by long poll until the machine has that status. */
export async function reachMachine(api: Api, id: string, status: string): Promise<Machine> {
  const answer = await api.waitFor(`/lxc/${id}`, [status, 'INSTALL_FAILED'], 120);
  const machine = answer.body as Machine;
  if (machine.status !== status) throw new Error(`It is ${machine.status}: ${answer.text}`);
  return machine;
}

export async function redirect(api: Api, id: string, wanted: object): Promise<Redirection> {
  return (await api.post(`/lxc/${id}/ports`, wanted)).expect(201).body as Redirection;
}
