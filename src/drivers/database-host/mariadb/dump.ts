import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Connection } from 'mysql2/promise';
import { DatabaseHostError, type HostAccount, type HostAddress } from '../database-host.js';
import { asAccount, hostError, rowsOf } from './connect.js';
import { anyName } from './names.js';
import { routinesOf } from './routines.js';

const OPTIONS = [
  '--single-transaction',
  '--skip-lock-tables',
  '--triggers',
  '--hex-blob',
  '--default-character-set=utf8mb4',
  '--skip-dump-date',
];

/** What the tool says of why it failed, at most. */
const SAID = 400;
/** Beyond it, a view counts as one that cannot be opened: views of views may need more time than anybody has. */
const VIEW_SECONDS = 5;
const CHECK_MS = 60_000;
const NO_SUCH_DEFINER = 1449;
const TOO_MANY_SESSIONS = 'Got error: 1226';

interface Relations {
  whole: string[];
  invalid: string[];
}

/**
 * The schema, routines first, as views are refused without the functions they call. To open a view can be to run functions of
 * the tenant's with one's own rights, and any table may be a view by the time it is read: all of it is read as `reader`, and
 * only the code of routines, which is shown to nobody else, as the administrator.
 */
export async function dumpOf(host: HostAddress, schema: string, reader: HostAccount): Promise<Readable> {
  const written = await toolOf(host, schema, reader);
  const whole = new PassThrough();
  const joined = async function* (): AsyncGenerator<Buffer | string> {
    yield* routinesOf(host, schema);
    yield* written;
  };
  // What goes wrong is told by the stream itself.
  pipeline(joined, whole).catch(() => undefined);
  whole.on('error', () => undefined);
  whole.once('close', () => written.destroy());
  await once(whole, 'readable');
  return whole;
}

/**
 * As the server's own tool writes it, but for routines and for views that are invalid: at the first of them it would give up.
 * They are named at the end. The password goes in by a file that has no name any more when the tool begins: no process list
 * has it.
 */
async function toolOf(host: HostAddress, schema: string, reader: HostAccount): Promise<Readable> {
  const relations = await relationsOf(host, schema, reader);
  const tls =
    host.caCertificate === null ? ['--skip-ssl'] : ['--ssl', '--ssl-verify-server-cert', '--ssl-ca=/dev/fd/4'];
  const files = await Promise.all([nameless(optionFile(host, reader)), nameless(host.caCertificate ?? '')]).catch(
    impossible,
  );
  let child: ChildProcess;
  try {
    child = spawn(
      'mariadb-dump',
      ['--defaults-extra-file=/dev/fd/3', ...tls, ...OPTIONS, ...choice(schema, relations)],
      {
        env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
        stdio: ['ignore', 'pipe', 'pipe', files[0].fd, files[1].fd],
      },
    );
  } catch (error) {
    // More names than a process can be given.
    return impossible(error);
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
  // A stream that ends like a whole one although the tool failed would be taken for a dump.
  const whole = new PassThrough();
  child.stdout!.on('error', (error) => whole.destroy(error)).pipe(whole, { end: false });
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(0, SAID)));
  child.once('close', (code) => {
    if (code === 0) whole.end(leftOut(relations));
    else {
      const reason = said.includes(TOO_MANY_SESSIONS) ? 'busy' : 'unavailable';
      whole.destroy(new DatabaseHostError(reason, `the dump ended with ${code ?? 'a signal'}: ${line(said)}`));
    }
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

/** Asks of each view what the tool will ask, as one that it is refused ends it. */
function relationsOf(host: HostAddress, schema: string, reader: HostAccount): Promise<Relations> {
  return asAccount(host, reader, async (connection) => {
    const end = performance.now() + CHECK_MS;
    await connection.query(`SET SESSION max_statement_time = ${VIEW_SECONDS}`);
    const listed = await rowsOf(
      connection,
      'SELECT table_name AS name, table_type AS type FROM information_schema.tables WHERE table_schema = ? ORDER BY 1',
      [schema],
    );
    const relations: Relations = { whole: [], invalid: [] };
    for (const row of listed) {
      if (performance.now() > end) throw new DatabaseHostError('unavailable', 'the views take too long to be opened');
      const name = String(row['name']);
      const opens = row['type'] !== 'VIEW' || (await isValid(connection, schema, name));
      (opens ? relations.whole : relations.invalid).push(name);
    }
    return relations;
  });
}

async function isValid(connection: Connection, schema: string, view: string): Promise<boolean> {
  try {
    await connection.query(`SHOW FIELDS FROM ${anyName(schema)}.${anyName(view)}`);
    // Without its definer a view is shown in a form that no other schema takes; who opens it is only warned.
    const warnings = await rowsOf(connection, 'SHOW WARNINGS');
    return warnings.every((row) => Number(row['Code']) !== NO_SUCH_DEFINER);
  } catch (error) {
    const refused = hostError(error);
    if (refused instanceof DatabaseHostError && refused.code === 'failed') return false;
    throw refused;
  }
}

/**
 * Of what the tool is to write. It takes names it is to ignore for others that differ in case only, so what it is to write is
 * named instead; where that is nothing, it would write all.
 */
function choice(schema: string, { whole, invalid }: Relations): string[] {
  if (invalid.length === 0) return ['--', schema];
  if (whole.length > 0) return ['--', schema, ...whole];
  return [...invalid.map((name) => `--ignore-table=${schema}.${name}`), '--', schema];
}

/** Quoted as JSON, no name can end the line that it stands in and go on as a statement. */
function leftOut({ invalid }: Relations): string {
  return invalid.map((name) => `-- Left out, as this view is invalid: ${JSON.stringify(name)}\n`).join('');
}

function line(said: string): string {
  return said.split('\n', 1)[0]!.trim() || 'it did not say why';
}

function impossible(cause: unknown): never {
  if (cause instanceof DatabaseHostError) throw cause;
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

function optionFile({ address, port }: HostAddress, { user, password }: HostAccount): string {
  const value = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;
  return `[client]\nprotocol=tcp\nhost=${value(address)}\nport=${port}\nuser=${value(user)}\npassword=${value(password)}\n`;
}
