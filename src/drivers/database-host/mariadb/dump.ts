import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { DatabaseHostError, type HostAddress } from '../database-host.js';

const OPTIONS = [
  '--single-transaction',
  '--skip-lock-tables',
  '--routines',
  '--triggers',
  '--hex-blob',
  '--default-character-set=utf8mb4',
  '--skip-dump-date',
];

/**
 * The schema as the server's own tool writes it. The password goes in by a file that has no name any more when the tool begins:
 * no process list has it. The tool's complaints are kept back, as they may name what is inside.
 */
export async function dumpOf(host: HostAddress, schema: string): Promise<Readable> {
  const tls =
    host.caCertificate === null ? ['--skip-ssl'] : ['--ssl', '--ssl-verify-server-cert', '--ssl-ca=/dev/fd/4'];
  const files = await Promise.all([nameless(optionFile(host)), nameless(host.caCertificate ?? '')]).catch(impossible);
  const child = spawn('mariadb-dump', ['--defaults-extra-file=/dev/fd/3', ...tls, ...OPTIONS, schema], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'ignore', files[0].fd, files[1].fd],
  });
  await Promise.all(files.map((file) => file.close()));
  // A stream that ends like a whole one although the tool failed would be taken for a dump.
  const whole = new PassThrough();
  child.stdout!.on('error', (error) => whole.destroy(error)).pipe(whole, { end: false });
  child.once('close', (code) => {
    if (code === 0) whole.end();
    else whole.destroy(new DatabaseHostError('unavailable', `the dump ended with ${code ?? 'a signal'}`));
  });
  child.on('error', () => undefined);
  whole.once('close', () => child.kill('SIGTERM'));
  whole.on('error', () => undefined);
  try {
    await Promise.race([
      once(whole, 'readable'),
      once(child, 'error').then(([error]) => Promise.reject(error as Error)),
    ]);
  } catch (error) {
    whole.destroy();
    return impossible(error);
  }
  return whole;
}

function impossible(cause: unknown): never {
  throw new DatabaseHostError('unavailable', 'no dump can be made', { cause });
}

/** A file that only whoever has it open can read. */
async function nameless(content: string): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-dump-'));
  try {
    await writeFile(join(folder, 'file'), content, { mode: 0o600 });
    return await open(join(folder, 'file'));
  } finally {
    await rm(folder, { recursive: true });
  }
}

function optionFile({ address, port, user, password }: HostAddress): string {
  const value = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;
  return `[client]\nprotocol=tcp\nhost=${value(address)}\nport=${port}\nuser=${value(user)}\npassword=${value(password)}\n`;
}
