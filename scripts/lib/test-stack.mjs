import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment } from './environment.mjs';
import { REPOSITORY, layoutOf, objectStore, readJson, writeJson, writePrivate } from './layout.mjs';
import { eraseLxd, unmountBelow, whyNoEngine } from './lxd.mjs';
import { ImageBuild, prepareMachine } from './machine.mjs';
import { run } from './process.mjs';
import { PROJECT_NODE } from './project.mjs';
import { masterKeyFile, secret, secretFile, vaultAnchorFile } from './secrets.mjs';
import { Stack } from './stack.mjs';
import { recoverRecords } from './recovery.mjs';
import { SERVICE_ORDER, Supervisor, endProcess, runningRecords } from './supervision.mjs';

/**
 * What tests find the stack by; also written to `.berth-test/stack.json`.
 * @typedef {object} TestStack
 * @property {Record<string, string>} env
 * @property {string} supervisor socket that takes `stop`, `kill` and `resume` for a service
 * @property {string[]} services
 * @property {string | null} noEngine why there is no engine, when there is none
 * @property {ImageBuild} [imageBuild] the images being built meanwhile
 */

/**
 * @param {import('./terminal.mjs').Steps} steps
 * @param {{ images: boolean }} options whether services are going to be made on it
 * @returns {Promise<TestStack>}
 */
export async function bringTestStack(steps, { images }) {
  const layout = layoutOf('test');
  const noEngine = whyNoEngine() ?? null;
  const imageBuild = noEngine || !images ? undefined : new ImageBuild(layout);
  await prepareMachine(steps, { engine: !noEngine, images: imageBuild !== undefined, clients: true }, () =>
    imageBuild?.start(),
  );
  imageBuild?.continue();
  const stack = new Stack(layout);
  await stack.open();
  /** @type {Record<string, string>} */
  const env = {};
  await steps.step('MariaDB for tests', async () => {
    env.DATABASE_URL = await stack.startDatabase();
  });
  await steps.step('Redis for tests', async () => {
    env.REDIS_URL = await stack.startRedis();
  });
  if (noEngine) {
    steps.say(`  ! no container engine: ${noEngine}; only the simulated one is tested`);
  } else {
    await steps.step('LXD for tests', async () => {
      env.ENGINE_URL = await stack.startEngine();
    });
    const { name, subnet } = stack.network();
    const machines = stack.machineNetwork({ name, subnet });
    Object.assign(env, {
      ENGINE_PROJECT: 'berth-test',
      ENGINE_POOL: 'berth-test',
      APP_NETWORK: name,
      APP_SUBNET: subnet,
      MACHINE_NETWORK: machines.name,
      MACHINE_SUBNET: machines.subnet,
    });
    // What the tests make is small; a full-sized pool would only need the disk.
    env.ENGINE_POOL_SIZE_GB = '20';
  }
  await steps.step('identity provider for tests', async () => {
    Object.assign(env, await stack.startIdentityProvider({ publicUrl: 'http://127.0.0.1', anyLoopbackPort: true }));
  });
  for (const name of /** @type {const} */ (['session', 'passwordKey', 'nodeToken', 'development']))
    secret(layout, name);
  env.SESSION_SECRET_FILE = secretFile(layout, 'session');
  env.PASSWORD_KEY_FILE = secretFile(layout, 'passwordKey');
  env.NODE_TOKEN_FILE = secretFile(layout, 'nodeToken');
  env.MASTER_KEY_FILE = masterKeyFile(layout);
  env.VAULT_ANCHOR_FILE = vaultAnchorFile(layout);
  env.DEVELOPMENT_PASSWORD_FILE = secretFile(layout, 'development');
  // Only the tests that are about it have one, in a table of their own.
  env.FIREWALL = 'off';
  env.OBJECT_STORE_URL = objectStore(layout);
  if (imageBuild) {
    // Right away: until the bridge is there, another stack that is being started would choose the same.
    await steps.step('engine for tests: project, pool, networks', async (note) =>
      berth(env, ['engine', 'setup'], note),
    );
  }
  await steps.step('MariaDB for databases of services', async () => {
    const { port, user, passwordFile, gateway } = await stack.startTenantDatabase();
    env.TENANT_DATABASE_PORT = String(port);
    env.TENANT_DATABASE_USER = user;
    env.TENANT_DATABASE_PASSWORD_FILE = passwordFile;
    env.TENANT_DATABASE_SERVICE_ADDRESS = gateway ?? '127.0.0.1';
  });
  env.BERTH_IMAGE_DIR = layout.images;
  env.IMAGE_DIR = layout.images;
  const services = SERVICE_ORDER.filter((name) => runningRecords(layout.run).some((record) => record.name === name));
  const description = { env, supervisor: stack.supervisor.socket, services, noEngine };
  writeJson(join(layout.state, 'stack.json'), description);
  const lines = Object.entries(env).map(([name, value]) => `${name}='${value}'\n`);
  writePrivate(join(layout.state, 'env'), lines.join(''));
  return { ...description, imageBuild };
}

/**
 * The images that services and machines in the tests run in.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {TestStack} stack
 */
export async function prepareTestEngine(steps, { env, noEngine, imageBuild }) {
  if (noEngine) return;
  if (imageBuild) await steps.step('images built', (note) => imageBuild.wait(note));
  await steps.step('engine for tests: images', async (note) => berth(env, ['image', 'build'], note));
}

/**
 * An operator's command on the test stack.
 * @param {Record<string, string>} env
 * @param {string[]} args
 * @param {(text: string) => void} note
 */
async function berth(env, args, note) {
  await run(PROJECT_NODE, [join(REPOSITORY, 'dist', 'src', 'cli', 'berth.js'), ...args, '--json'], {
    cwd: REPOSITORY,
    env: { ...plainEnvironment(layoutOf('test')), ...env },
    onLine: note,
    title: `berth ${args.join(' ')}`,
  });
}

/** Starts again what a test took away and, failing half-way, did not give back. */
export async function mendTestStack() {
  const supervisor = new Supervisor(layoutOf('test'));
  for (const [name, { state }] of Object.entries((await supervisor.status()) ?? {})) {
    if (state === 'stopped') await supervisor.resume(name);
  }
}

const keptFile = () => join(layoutOf('test').state, 'kept');

/** Whether somebody asked for the stack to stay. */
export function isKept() {
  return existsSync(keptFile());
}

/** @param {import('./terminal.mjs').Steps} steps */
export function keepTestStack(steps) {
  if (!existsSync(layoutOf('test').state)) return;
  writeFileSync(keptFile(), '');
  steps.say('  the test stack goes on; node scripts/test-stack.mjs down ends it');
}

/**
 * Ends the test stack, whatever state it is in, and removes all it made.
 * @param {import('./terminal.mjs').Steps} steps
 */
export async function removeTestStack(steps) {
  const layout = layoutOf('test');
  await steps.step('test stack removed', async (note) => {
    const network = readJson(join(layout.state, 'network.json'));
    recoverRecords(layout);
    await new Stack(layout).supervisor.quit();
    // Nothing of it is kept, so nothing is asked politely.
    for (const record of runningRecords(layout.run)) {
      note(record.name);
      await endProcess(layout.run, { ...record, stop: { signal: 'SIGKILL', timeoutMs: 10_000 } });
    }
    await eraseLxd(join(layout.data, 'lxd'), network ? bridgesOf(network.name) : []);
    await unmountBelow(layout.data);
    for (const folder of [layout.data, layout.run, layout.state]) rmSync(folder, { recursive: true, force: true });
  });
}

/**
 * The stack's bridge and those that tests made beside it, whose names begin with its name.
 * @param {string} name
 */
function bridgesOf(name) {
  return [name, `${name}m`, ...readdirSync('/sys/class/net').filter((other) => other.startsWith(`${name}e`))];
}
