import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { buildRevision } from './build.mjs';
import { chooseEngine, storeEngine } from './engine-choice.mjs';
import { layoutOf, makeFolders, objectStore, readJson, writeJson } from './layout.mjs';
import { firewallTable, guardDatabases } from './firewall.mjs';
import { sftpHostKeyFile } from './host-key.mjs';
import { takeLock } from './lock.mjs';
import { ImageBuild, imagesRevision, prepareMachine } from './machine.mjs';
import { TENANT_DATABASES } from './mariadb.mjs';
import { Platform } from './platform.mjs';
import { waitUntil } from './process.mjs';
import { masterKeyFile, secret, secretFile, vaultAnchorFile } from './secrets.mjs';
import { givenSettings, portSetting, storeSettings } from './settings.mjs';
import { Stack, answersOk, requirePort } from './stack.mjs';
import { recoverRecords } from './recovery.mjs';
import { runningRecord } from './supervision.mjs';
import { Failure } from './terminal.mjs';

/**
 * Brings the platform up, or mends it.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {{ engine?: string }} options
 */
export async function bringUp(steps, options) {
  const started = Date.now();
  const layout = layoutOf('up');
  const free = takeLock(layout);
  makeFolders(layout);
  const given = givenSettings(layout);
  const engine = await chooseEngine(layout, options.engine, given.ENGINE_URL);
  if (engine.kind === 'simulator') steps.say('  ! simulated containers: nothing that is hosted really runs');
  recoverRecords(layout);
  if (!runningRecord(layout.run, 'berth')) await requireListeners(layout, given);
  const images = engine.kind !== 'simulator';
  const revisions = join(layout.state, 'revision.json');
  const stale = images && readJson(revisions)?.images !== imagesRevision();
  const imageBuild = stale ? new ImageBuild(layout) : undefined;
  try {
    await prepareMachine(steps, { engine: engine.kind === 'own', images }, () => imageBuild?.start());
    imageBuild?.continue();
    return await bringRest({ steps, layout, given, engine, imageBuild, images, revisions, started });
  } catch (error) {
    imageBuild?.abandon();
    throw error;
  } finally {
    free();
  }
}

/**
 * @param {object} given
 * @param {import('./terminal.mjs').Steps} given.steps
 * @param {import('./layout.mjs').Layout} given.layout
 * @param {Record<string, string>} given.given
 * @param {import('./engine-choice.mjs').EngineChoice} given.engine
 * @param {ImageBuild | undefined} given.imageBuild
 * @param {boolean} given.images
 * @param {string} given.revisions
 * @param {number} given.started
 */
async function bringRest({ steps, layout, given, engine, imageBuild, images, revisions, started }) {
  const stack = new Stack(layout);
  await stack.open();
  const settings = { ...(await startDaemons(steps, stack, engine, given)), ...given };
  Object.assign(settings, await startEdge(steps, stack, given));
  settings.ENGINE_URL =
    engine.kind === 'simulator' ? 'simulator:' : (given.ENGINE_URL ?? String(stack.engineUrl ?? engine.url));
  storeSettings(layout, given);
  storeEngine(layout, engine);

  const platform = new Platform(stack, settings);
  const host = await startTenantHost(steps, platform, images);
  const wanted = { platform: revisionOf(platform), images: images ? imagesRevision() : '' };
  const healthy =
    runningRecord(layout.run, 'berth') && (await answersOk(`${platform.localUrl}/health/ready`).catch(() => false));
  if (!stack.changed && healthy && JSON.stringify(readJson(revisions)) === JSON.stringify(wanted)) {
    // A supervisor that was started just now has yet to take the platform under watch.
    await platform.start();
    steps.say(`  ✓ runs already, nothing to mend (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  } else {
    await setUpPlatform(steps, platform, imageBuild, images, host);
    writeJson(revisions, wanted);
  }
  const access = await platform.access();
  const addresses = describe(layout, platform, settings, access);
  writeJson(join(layout.state, 'up.json'), addresses);
  printAddresses(steps, addresses, platform, engine.kind, started);
  return { stack, services: [...stack.brought, platform.service()] };
}

/**
 * @param {import('./terminal.mjs').Steps} steps
 * @param {Platform} platform
 * @param {ImageBuild | undefined} imageBuild
 * @param {boolean} images
 * @param {Awaited<ReturnType<Stack['startTenantDatabase']>>} host
 */
async function setUpPlatform(steps, platform, imageBuild, images, host) {
  const command = (/** @type {string} */ title, /** @type {string[]} */ args) =>
    steps.step(title, async (note) => void (await platform.berth(args, { note })));
  await command('migrations', ['migrate']);
  await command('node registered', ['node', 'register']);
  await command('engine: project, pool, networks', ['engine', 'setup']);
  if (images) {
    if (imageBuild) await steps.step('images built', (note) => imageBuild.wait(note));
    await command('images in the engine', ['image', 'build']);
  }
  await command('database host registered', databaseHost(host));
  await steps.step('platform started', async () => void (await platform.start()));
}

/**
 * Its bridge comes first: the server answers hosted programs on the bridge's address.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {Platform} platform
 * @param {boolean} images
 */
async function startTenantHost(steps, platform, images) {
  const { stack, settings } = platform;
  const reachable = async () => (await stack.gateway()) !== undefined;
  // An engine on another machine has its bridge there; programs on it need a host of databases that they reach.
  if (images && settings.ENGINE_URL?.startsWith('unix:') && !(await reachable())) {
    await steps.step('bridge of the app network', async (note) => {
      await platform.berth(['engine', 'setup'], { note });
      if (!(await waitUntil(reachable, 10_000))) throw new Failure('the bridge of the app network has no address');
    });
  }
  return steps.step('MariaDB for databases of services', async () => {
    const host = await stack.startTenantDatabase();
    const network = settings.APP_NETWORK;
    const filters = host.gateway !== undefined && network !== undefined && settings.FIREWALL !== 'off';
    if (filters) await guardDatabases(stack.layout, { network, gateway: host.gateway ?? '', port: host.port });
    return host;
  });
}

/**
 * The command that makes the host of tenants' databases known.
 * @param {Awaited<ReturnType<Stack['startTenantDatabase']>>} host
 */
function databaseHost({ user, port, passwordFile, gateway }) {
  const named = ['--name', 'local', '--host', '127.0.0.1', '--port', String(port), '--user', user];
  const reached = ['--service-host', gateway ?? '127.0.0.1', '--capacity', String(TENANT_DATABASES)];
  return ['database-host', 'add', ...named, '--password-file', passwordFile, ...reached];
}

/** @param {Platform} platform */
function revisionOf(platform) {
  return createHash('sha256')
    .update(`${buildRevision()}${JSON.stringify(platform.env)}`)
    .digest('hex');
}

/**
 * Ports that people type must be free; a foreign program that holds one is named.
 * @param {import('./layout.mjs').Layout} layout
 * @param {Record<string, string>} given
 */
async function requireListeners(layout, given) {
  const host = given.HOST ?? '127.0.0.1';
  await requirePort('PORT', portSetting(given, 'PORT', 3000), host);
  await requirePort('INTERNAL_PORT', portSetting(given, 'INTERNAL_PORT', 3100), given.INTERNAL_HOST ?? '127.0.0.1');
  await requirePort('METRICS_PORT', portSetting(given, 'METRICS_PORT', 3101), given.METRICS_HOST ?? '127.0.0.1');
  await requirePort('CONSOLE_PORT', portSetting(given, 'CONSOLE_PORT', 3200), given.CONSOLE_HOST ?? '127.0.0.1');
  await requirePort('CDN_PORT', portSetting(given, 'CDN_PORT', 3300), given.CDN_HOST ?? '127.0.0.1');
  const pages = given.PAGES_HOST ?? '127.0.0.1';
  await requirePort('PAGES_HTTP_PORT', portSetting(given, 'PAGES_HTTP_PORT', 3080), pages);
  await requirePort('PAGES_ORIGIN_PORT', portSetting(given, 'PAGES_ORIGIN_PORT', 3081), '127.0.0.1');
  await requirePort('CADDY_LOG_PORT', portSetting(given, 'CADDY_LOG_PORT', 3082), '127.0.0.1');
  if (!runningRecord(layout.run, 'caddy')) {
    await requirePort('PAGES_HTTPS_PORT', portSetting(given, 'PAGES_HTTPS_PORT', 3443), pages);
  }
  await requirePort('SFTP_PORT', portSetting(given, 'SFTP_PORT', 2022), given.SFTP_HOST ?? '127.0.0.1');
}

/**
 * Starts every daemon that no setting replaces by one from elsewhere, and gives the settings that lead to them.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {Stack} stack
 * @param {import('./engine-choice.mjs').EngineChoice} engine
 * @param {Record<string, string>} given
 * @returns {Promise<Record<string, string>>}
 */
async function startDaemons(steps, stack, engine, given) {
  const { layout } = stack;
  /** @type {Record<string, string>} */
  const settings = {};
  await steps.step('MariaDB, Redis', async () => {
    await Promise.all([
      given.DATABASE_URL ? undefined : stack.startDatabase().then((url) => (settings.DATABASE_URL = url)),
      given.REDIS_URL ? undefined : stack.startRedis().then((url) => (settings.REDIS_URL = url)),
    ]);
  });
  if (engine.kind === 'own') await steps.step('LXD', async () => void (await stack.startEngine()));
  if (engine.kind !== 'simulator') {
    const { name, subnet } = stack.network(given.APP_NETWORK);
    const machines = stack.machineNetwork({ name, subnet });
    Object.assign(settings, {
      APP_NETWORK: name,
      APP_SUBNET: subnet,
      MACHINE_NETWORK: given.MACHINE_NETWORK ?? machines.name,
      MACHINE_SUBNET: given.MACHINE_SUBNET ?? machines.subnet,
    });
  }
  const port = portSetting(given, 'PORT', 3000);
  const publicUrl = (given.PUBLIC_URL ?? `http://127.0.0.1:${port}`).replace(/\/$/, '');
  if (!given.OIDC_ISSUER) {
    await steps.step('identity provider', async () => {
      Object.assign(settings, await stack.startIdentityProvider({ publicUrl }));
    });
  }
  for (const name of /** @type {const} */ (['session', 'passwordKey', 'nodeToken'])) secret(layout, name);
  return {
    ...settings,
    PUBLIC_URL: publicUrl,
    CONSOLE_URL: `ws://127.0.0.1:${portSetting(given, 'CONSOLE_PORT', 3200)}`,
    CDN_URL: `http://127.0.0.1:${portSetting(given, 'CDN_PORT', 3300)}`,
    INTERNAL_URL: `http://127.0.0.1:${portSetting(given, 'INTERNAL_PORT', 3100)}`,
    SESSION_SECRET_FILE: secretFile(layout, 'session'),
    PASSWORD_KEY_FILE: secretFile(layout, 'passwordKey'),
    NODE_TOKEN_FILE: secretFile(layout, 'nodeToken'),
    MASTER_KEY_FILE: masterKeyFile(layout),
    VAULT_ANCHOR_FILE: vaultAnchorFile(layout),
    SFTP_HOST_KEY_FILE: sftpHostKeyFile(layout),
    WORKSHOP_SOCKET_DIR: join(layout.run, 'ws'),
    FIREWALL_TABLE: firewallTable(layout),
    OBJECT_STORE_URL: objectStore(layout),
  };
}

/**
 * Starts what speaks TLS for the sites, unless the settings name another one. What it gives wins over what was given: the
 * authority's certificates are read where the daemon can.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {Stack} stack
 * @param {Record<string, string>} given
 * @returns {Promise<Record<string, string>>}
 */
async function startEdge(steps, stack, given) {
  if (given.CADDY_ADMIN_URL) return {};
  const httpsPort = portSetting(given, 'PAGES_HTTPS_PORT', 3443);
  return steps.step('Caddy', () => stack.startCaddy({ httpsPort, caFile: given.ACME_CA_FILE }));
}

/**
 * What is written to `.berth/up.json`.
 * @param {import('./layout.mjs').Layout} layout
 * @param {Platform} platform
 * @param {Record<string, string>} settings
 * @param {{ account: string, apiKey: string, readOnlyKey: string }} access
 */
function describe(layout, platform, settings, { account, apiKey, readOnlyKey }) {
  const { publicUrl } = platform;
  return {
    baseUrl: `${publicUrl}/api/v1`,
    vaultUrl: publicUrl,
    cdnUrl: (settings.CDN_URL ?? '').replace(/\/$/, ''),
    panelUrl: `${publicUrl}/panel`,
    consoleUrl: settings.CONSOLE_URL ?? `ws://127.0.0.1:${portSetting(settings, 'CONSOLE_PORT', 3200)}`,
    pagesHttpUrl: `http://127.0.0.1:${portSetting(settings, 'PAGES_HTTP_PORT', 3080)}`,
    pagesHttpsUrl: `https://127.0.0.1:${portSetting(settings, 'PAGES_HTTPS_PORT', 3443)}`,
    sftp: { host: '127.0.0.1', port: portSetting(settings, 'SFTP_PORT', 2022) },
    brokerPort: portSetting(settings, 'BROKER_PORT', 7458),
    databaseUrl: settings.DATABASE_URL,
    masterKeyFile: settings.MASTER_KEY_FILE,
    vaultAnchorFile: settings.VAULT_ANCHOR_FILE,
    passwordKeyFile: settings.PASSWORD_KEY_FILE,
    account,
    apiKey,
    readOnlyKey,
    developmentPassword: secret(layout, 'development'),
  };
}

/**
 * @param {import('./terminal.mjs').Steps} steps
 * @param {ReturnType<typeof describe>} addresses
 * @param {Platform} platform
 * @param {string} engine
 * @param {number} started
 */
function printAddresses(steps, addresses, platform, engine, started) {
  const { baseUrl, panelUrl, apiKey, developmentPassword } = addresses;
  const rows = [
    ['public API', baseUrl],
    ['documentation', `${platform.publicUrl}/docs`],
    ['panel API', `${panelUrl}/api`],
    ['panel login', `any name, password ${developmentPassword}`],
    ['health', `${platform.localUrl}/health/ready`],
    ['API key', apiKey],
  ];
  steps.say(
    `\nBerth is up (${((Date.now() - started) / 1000).toFixed(1)} s).${engine === 'simulator' ? ' Containers are SIMULATED.' : ''}\n`,
  );
  for (const [name = '', value] of rows) steps.say(`  ${name.padEnd(14)} ${value}`);
  steps.say('\nHost a program:\n');
  steps.say(
    `  curl -sS ${baseUrl}/servers -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\`,
  );
  steps.say(`    -d '{"name":"hello","runtime":"NODEJS","ram":256,"disk":1024,"cpu":100}'`);
  steps.say('\nAll addresses and keys stand in .berth/up.json, logs in .berth/log.');
}
