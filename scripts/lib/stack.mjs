import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REPOSITORY, makeFolders, readJson, writeJson } from './layout.mjs';
import { authorityFile, caddy, caddyAnswers, prepareCaddy } from './caddy.mjs';
import { engineAnswers, lxd, prepareLxd } from './lxd.mjs';
import { grantAccess, mariaDb, mariaDbAnswers, prepareMariaDb } from './mariadb.mjs';
import { freePort, isFree, portHolder } from './ports.mjs';
import { PROJECT_NODE } from './project.mjs';
import { prepareRedis, redis, redisAnswers } from './redis.mjs';
import { secret, secretFile } from './secrets.mjs';
import { plainEnvironment } from './environment.mjs';
import { recoverRecords } from './recovery.mjs';
import { Supervisor, runningRecord } from './supervision.mjs';
import { Failure } from './terminal.mjs';

/** Ports of the daemons behind the platform. Nobody types them, so a taken one is replaced by the next that is free. */
const DAEMON_PORTS = {
  up: { mariadb: 3311, 'mariadb-tenant': 3312, redis: 6311, 'identity-provider': 3400 },
  test: { mariadb: 3321, 'mariadb-tenant': 3322, redis: 6321, 'identity-provider': 3420 },
};

/** Where the search for an unused bridge begins. */
const BRIDGES = { up: { prefix: 'berth', net: 158 }, test: { prefix: 'bertht', net: 159 } };

/** The daemons of one stack: what they are, how they are started and when they are ready. */
export class Stack {
  /** @param {import('./layout.mjs').Layout} layout */
  constructor(layout) {
    this.layout = layout;
    this.supervisor = new Supervisor(layout);
    this.portsFile = join(layout.state, 'ports.json');
    /** @type {Record<string, number>} */
    this.ports = {};
    /** @type {import('./supervision.mjs').Service[]} */
    this.brought = [];
    /** Whether anything had to be started. */
    this.changed = false;
    /** @type {string | undefined} */
    this.engineUrl = undefined;
  }

  /** Folders, ports and the supervisor. */
  async open() {
    makeFolders(this.layout);
    recoverRecords(this.layout);
    await this.choosePorts();
    await this.supervisor.ensure();
  }

  async choosePorts() {
    const stored = readJson(this.portsFile) ?? {};
    for (const [name, wanted] of Object.entries(DAEMON_PORTS[this.layout.kind])) {
      const port = stored[name] ?? wanted;
      const reserved = Object.values(this.ports);
      const runs = runningRecord(this.layout.run, name) !== undefined;
      const kept = runs || (!reserved.includes(port) && (await isFree(port)));
      this.ports[name] = kept ? port : await freePort(port + 30, reserved);
    }
    writeJson(this.portsFile, this.ports);
  }

  /** @param {string} name */
  port(name) {
    const port = this.ports[name];
    if (port === undefined) throw new Error(`no port was chosen for ${name}`);
    return port;
  }

  /** The platform's own MariaDB. Tests make a schema for every file, so there the account may do everything. */
  async startDatabase() {
    const test = this.layout.kind === 'test';
    const server = mariaDb(this.layout, {
      name: 'mariadb',
      port: this.port('mariadb'),
      user: 'berth',
      profile: test ? 'test' : 'platform',
    });
    const password = secret(this.layout, 'database');
    const change = await this.bring(
      server.service,
      'MariaDB',
      () => prepareMariaDb(this.layout, server),
      () => mariaDbAnswers(server),
    );
    if (change !== 'none')
      await grantAccess(server, test ? { password, everything: true } : { password, database: 'berth' });
    return `mysql://${server.user}:${password}@127.0.0.1:${server.port}${test ? '' : '/berth'}`;
  }

  /**
   * The hardened MariaDB that tenants' databases live on. It answers hosted programs on their gateway's address, so it starts
   * after their bridge; where there is none on this machine, it answers on loopback only.
   */
  async startTenantDatabase() {
    const gateway = await this.gateway();
    const server = mariaDb(this.layout, {
      name: 'mariadb-tenant',
      port: this.port('mariadb-tenant'),
      user: 'berth',
      profile: 'tenant',
      gateway,
    });
    const password = secret(this.layout, 'tenantDatabase');
    const change = await this.bring(
      server.service,
      'MariaDB for tenants',
      () => prepareMariaDb(this.layout, server),
      () => mariaDbAnswers(server),
    );
    if (change !== 'none') await grantAccess(server, { password, everything: true });
    return {
      user: server.user,
      port: server.port,
      passwordFile: secretFile(this.layout, 'tenantDatabase'),
      gateway,
    };
  }

  /**
   * Address of the app network's gateway, when it is one of this machine's. A bridge that nobody uses is not listed among the
   * interfaces, so it is tried.
   * @returns {Promise<string | undefined>}
   */
  async gateway() {
    const { subnet } = readJson(join(this.layout.state, 'network.json')) ?? {};
    const address = subnet?.split('/')[0];
    return address !== undefined && (await isFree(0, address)) ? address : undefined;
  }

  async startRedis() {
    const server = redis(this.layout, { port: this.port('redis'), password: secret(this.layout, 'redis') });
    await this.bring(
      server.service,
      'Redis',
      () => prepareRedis(this.layout, server),
      () => redisAnswers(server),
    );
    return `redis://:${server.password}@127.0.0.1:${server.port}/0`;
  }

  /**
   * What speaks TLS for the sites, and the settings that lead to it.
   * @param {{ httpsPort: number, caFile: string | undefined }} options
   */
  async startCaddy({ httpsPort, caFile }) {
    const server = caddy(this.layout, { httpsPort });
    await this.bring(
      server.service,
      'Caddy',
      () => prepareCaddy(this.layout, server, caFile),
      () => caddyAnswers(server),
    );
    return { ...server.settings, ...(caFile === undefined ? {} : { ACME_CA_FILE: authorityFile(this.layout) }) };
  }

  /** An LXD of our own. */
  async startEngine() {
    const engine = lxd(this.layout);
    await this.bring(
      engine.service,
      'LXD',
      async () => prepareLxd(engine),
      () => engineAnswers(engine.socket),
      120_000,
    );
    this.engineUrl = `unix:${engine.socket}`;
    return this.engineUrl;
  }

  /**
   * @param {{ publicUrl: string, anyLoopbackPort?: boolean }} options
   */
  async startIdentityProvider({ publicUrl, anyLoopbackPort }) {
    const port = this.port('identity-provider');
    const issuer = `http://127.0.0.1:${port}`;
    for (const name of /** @type {const} */ (['oidcClient', 'development'])) secret(this.layout, name);
    const paths = ['/panel', '/panel/', '/'];
    const args = [
      fileURLToPath(new URL('../identity-provider.mjs', import.meta.url)),
      `--port=${port}`,
      '--client=berth',
      `--redirect=${publicUrl}/panel/api/auth/callback`,
      ...paths.map((path) => `--logout-redirect=${publicUrl}${path}`),
      `--client-secret-file=${secretFile(this.layout, 'oidcClient')}`,
      `--password-file=${secretFile(this.layout, 'development')}`,
      `--state=${this.layout.secrets}`,
      ...(anyLoopbackPort ? ['--any-loopback-port'] : []),
    ];
    const log = join(this.layout.log, 'identity-provider.log');
    const service = {
      name: 'identity-provider',
      command: PROJECT_NODE,
      args,
      env: plainEnvironment(this.layout),
      cwd: REPOSITORY,
      log,
      stop: { signal: /** @type {const} */ ('SIGTERM'), timeoutMs: 5000 },
    };
    await this.bring(
      service,
      'the identity provider',
      async () => {},
      () => answersOk(`${issuer}/.well-known/openid-configuration`),
    );
    return { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'berth', OIDC_CLIENT_SECRET: secret(this.layout, 'oidcClient') };
  }

  /**
   * Prepares, starts and awaits one service.
   * @param {import('./supervision.mjs').Service} service
   * @param {string} title
   * @param {() => Promise<void>} prepare
   * @param {() => Promise<boolean>} answers
   * @param {number} [timeoutMs]
   */
  async bring(service, title, prepare, answers, timeoutMs = 60_000) {
    await prepare();
    const { change } = await this.supervisor.start(service);
    await this.supervisor.waitFor(service, answers, { title, timeoutMs });
    this.brought.push(service);
    if (change !== 'none' && change !== 'adopted') this.changed = true;
    return change;
  }

  /**
   * The machines' bridge and subnet, which belong to the app network's: the name with an `m`, a hundred subnets before.
   * @param {{ name: string, subnet: string }} app
   */
  machineNetwork({ name, subnet }) {
    const [, second] = subnet.split('.');
    return { name: `${name}m`, subnet: `10.${Number(second) - 100}.0.1/16` };
  }

  /**
   * The bridge and subnet of the app network: what an earlier start stored, else the first that nobody uses.
   * @param {string} [given] name of a bridge that the settings ask for
   * @returns {{ name: string, subnet: string }}
   */
  network(given) {
    const file = join(this.layout.state, 'network.json');
    const stored = readJson(file);
    if (stored && (!given || stored.name === given)) return stored;
    const { prefix, net } = BRIDGES[this.layout.kind];
    const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
    for (let i = 0; i < 10; i++) {
      const name = given ?? `${prefix}${i}`;
      const subnet = `10.${net + 2 * i}.0.1/16`;
      const bridgeTaken = !given && existsSync(`/sys/class/net/${name}`);
      const machines = `10.${net + 2 * i - 100}.`;
      if (addresses.some((address) => address.startsWith(machines))) continue;
      if (bridgeTaken || addresses.some((address) => address.startsWith(`10.${net + 2 * i}.`))) continue;
      writeJson(file, { name, subnet });
      return { name, subnet };
    }
    throw new Failure(`all bridges ${prefix}0 to ${prefix}9 or their subnets are in use already`, {
      advice: `remove one: ip link delete ${prefix}0`,
    });
  }
}

/** @param {string} url */
export async function answersOk(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
  await response.arrayBuffer();
  return response.ok;
}

/**
 * Stops with the name of the program when a port that people type is taken.
 * @param {string} setting
 * @param {number} port
 * @param {string} host
 */
export async function requirePort(setting, port, host) {
  if (await isFree(port, host)) return;
  throw new Failure(`port ${port} is taken by ${portHolder(port)}`, {
    advice: `end that program, or choose another port: ${setting}=${port + 1} npm run up`,
  });
}
