import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Login {
  port: number;
  username: string;
  password: string;
}

/** A folder with what OpenSSH's programs and the node need. */
export class OpenSsh {
  readonly folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'));
  readonly hostKeyFile = join(this.folder, 'host-key');
  private readonly askpass = join(this.folder, 'askpass');

  constructor() {
    const { private: key } = ssh2.utils.generateKeyPairSync('ed25519');
    writeFileSync(this.hostKeyFile, key, { mode: 0o600 });
    writeFileSync(this.askpass, '#!/bin/sh\necho "$SFTP_PASSWORD"\n');
    chmodSync(this.askpass, 0o700);
  }

  /** `options` win over those that are given here. Runs OpenSSH's `sftp` with these commands, one after another; it ends at the first that fails, but for those with `-`. */
  batch(login: Login, commands: string[], options: string[] = []): Promise<Ran> {
    const args = [
      '-oBatchMode=no',
      '-b',
      '-',
      '-P',
      String(login.port),
      ...options,
      ...OPTIONS,
      `${login.username}@127.0.0.1`,
    ];
    return this.run('sftp', args, login, `${commands.join('\n')}\n`);
  }

  ssh(login: Login, options: string[]): Promise<Ran> {
    return this.run(
      'ssh',
      ['-p', String(login.port), ...OPTIONS, `${login.username}@127.0.0.1`, ...options],
      login,
      '',
    );
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async run(program: string, args: string[], login: Login, input: string): Promise<Ran> {
    const child = spawn(program, args, {
      cwd: this.folder,
      env: {
        PATH: process.env['PATH'],
        HOME: this.folder,
        SSH_ASKPASS: this.askpass,
        SSH_ASKPASS_REQUIRE: 'force',
        SFTP_PASSWORD: login.password,
      },
      timeout: 60_000,
    });
    const ran: Ran = { code: null, stdout: '', stderr: '' };
    child.stdout.on('data', (text: Buffer) => (ran.stdout += text.toString()));
    child.stderr.on('data', (text: Buffer) => (ran.stderr += text.toString()));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    [ran.code] = (await once(child, 'close')) as [number | null];
    return ran;
  }
}

const OPTIONS = [
  '-oStrictHostKeyChecking=no',
  '-oUserKnownHostsFile=/dev/null',
  '-oPreferredAuthentications=password',
  '-oNumberOfPasswordPrompts=1',
  '-oConnectTimeout=10',
  '-oLogLevel=ERROR',
];
