import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tenantHost } from '../../support/database-host.js';

/** What an import over the API begins with. */
const PRELUDE = "SET SESSION sql_mode = REPLACE(@@sql_mode, 'NO_ENGINE_SUBSTITUTION', '');\n";

/** What the server says to a statement that it cannot parse. */
const SYNTAX_ERROR = 1064;

/** The server's own client, by which ours is judged; it logs in as whoever runs the host, who may make any definer. */
export class MariaDbClient {
  private readonly folder = mkdtempSync(join(tmpdir(), 'berth-client-'));
  private readonly options: string;

  constructor() {
    const { address, port, user, password } = tenantHost();
    const file = join(this.folder, 'client.cnf');
    writeFileSync(file, `[client]\nhost=${address}\nport=${port}\nuser=${user}\npassword=${password}\nprotocol=tcp\n`, {
      mode: 0o600,
    });
    this.options = `--defaults-file=${file}`;
  }

  close(): void {
    rmSync(this.folder, { recursive: true });
  }

  /** Runs a text as a dump; answers the number of the first error, null when there was none. Unless told, it leaves comments out. */
  run(
    schema: string | null,
    sql: string,
    comments: '--comments' | '--skip-comments' = '--skip-comments',
  ): Promise<number | null> {
    const args = [this.options, '--binary-mode', '--sandbox', comments, '--default-character-set=utf8mb4'];
    const child = spawn('mariadb', [...args, ...(schema === null ? [] : [schema])], {
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stdin.on('error', () => undefined);
    child.stdin.end(`${PRELUDE}${sql}`);
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => {
        if (code === 0) return resolve(null);
        const [, errno] = /^ERROR (\d+)/m.exec(said) ?? [];
        if (errno !== undefined) resolve(Number(errno));
        // A backslash outside of a text begins a command of its own: it does not ask the server about that.
        else if (/^ERROR at line \d+: Unknown command/m.test(said)) resolve(SYNTAX_ERROR);
        else reject(new Error(said));
      });
    });
  }

  async mustRun(schema: string | null, sql: string): Promise<void> {
    const errno = await this.run(schema, sql, '--comments');
    if (errno !== null) throw new Error(`the client was told ${errno}`);
  }

  /** A dump as people make it. */
  original(schema: string, options: string[]): string {
    return execFileSync('mariadb-dump', [this.options, '--default-character-set=utf8mb4', ...options, schema], {
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    });
  }

  /** All there is in a schema, to be compared: who defined what is not. */
  dump(schema: string): string {
    const options = [
      '--routines',
      '--triggers',
      '--hex-blob',
      '--skip-dump-date',
      '--skip-comments',
      '--skip-extended-insert',
    ];
    return this.original(schema, options)
      .replace(/DEFINER=([`"])[^`"]*\1@\1[^`"]*\1/g, 'DEFINER')
      .replaceAll(`\`${schema}\`.`, '')
      .replaceAll(schema, 'schema');
  }
}
