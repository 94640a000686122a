import { runningRecord } from './supervision.mjs';
import { layoutOf } from './layout.mjs';
import { asRoot, mariaDb } from './mariadb.mjs';
import { Stack } from './stack.mjs';
import { removeTestStack } from './test-stack.mjs';

/**
 * Runs the work with the URL of an empty schema on the test MariaDB, which is started for it unless it runs, and
 * removes both again.
 * @template T
 * @param {import('./terminal.mjs').Steps} steps
 * @param {(url: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withEmptySchema(steps, work) {
  const layout = layoutOf('test');
  const ran = runningRecord(layout.run, 'mariadb') !== undefined;
  const stack = new Stack(layout);
  await stack.open();
  const url = await stack.startDatabase();
  const server = mariaDb(layout, { name: 'mariadb', port: stack.port('mariadb'), user: 'berth', profile: 'test' });
  const schema = `check_${process.pid}`;
  await asRoot(server, `CREATE DATABASE ${schema};`);
  try {
    return await work(`${url}/${schema}`);
  } finally {
    await asRoot(server, `DROP DATABASE ${schema};`);
    if (!ran) await removeTestStack(steps);
  }
}
