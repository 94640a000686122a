import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grantAccess, mariaDb, mariaDbAnswers, prepareMariaDb } from '../../scripts/lib/mariadb.mjs';
import { freePort, until } from './berth.mjs';

/**
 * A MariaDB as `npm run up` has it, which syncs every commit to the disk: the tests' own does not, as nothing of theirs has to
 * outlive a power cut.
 */
export class DurableDatabase {
  static async start() {
    const database = new DurableDatabase();
    database.folder = mkdtempSync(join(tmpdir(), 'berth-bench-db-'));
    chmodSync(database.folder, 0o711);
    const layout = { kind: 'test', data: join(database.folder, 'data'), run: join(database.folder, 'run') };
    Object.assign(layout, { state: database.folder, log: database.folder, secrets: database.folder, images: '' });
    for (const folder of [layout.data, layout.run]) mkdirSync(folder, { mode: 0o711 });
    const server = mariaDb(layout, { name: 'db', port: await freePort(), user: 'berth', profile: 'platform' });
    await prepareMariaDb(layout, server);
    const { command, args, env, cwd } = server.service;
    database.child = spawn(command, args, { env, cwd, stdio: 'ignore' });
    // A benchmark that fails would leave it behind otherwise.
    process.once('exit', () => database.child.kill('SIGKILL'));
    await until(() => mariaDbAnswers(server).catch(() => false));
    const password = randomBytes(16).toString('hex');
    await grantAccess(server, { password, everything: true });
    database.url = `mysql://berth:${password}@127.0.0.1:${server.port}`;
    return database;
  }

  async stop() {
    this.child.kill('SIGTERM');
    await new Promise((resolve) => this.child.once('exit', resolve));
    rmSync(this.folder, { recursive: true });
  }
}
