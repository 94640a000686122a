import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Connection, createConnection } from 'mysql2/promise';
import { Agent, request } from 'undici';
import type { Engine } from '../../../src/drivers/engine/engine.js';
import { createEngine } from '../../../src/drivers/engine/engine.factory.js';
import { RUNTIMES } from '../../../src/modules/servers/runtimes.js';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import type { Answer, Api } from '../../support/api.js';
import { type Berth, type BerthOptions, startBerth } from '../../support/app.js';
import { RoleProcess, type RoleName } from '../../support/role-process.js';
import { stack } from '../../support/stack.js';
import { until } from '../../support/until.js';

/**
 * The engine's side of one spec file: a project, a bridge and an address for the programs' ports that nobody else uses.
 * Bridges are the whole machine's, so their names and subnets follow from those of the stack.
 */
function settingsOf(place: number): Record<string, string> {
  const { ENGINE_URL, APP_NETWORK, APP_SUBNET } = stack.env();
  const stackNumber = (Number(APP_SUBNET!.split('.')[1]) - 159) / 2;
  return {
    ENGINE_URL: ENGINE_URL!,
    ENGINE_PROJECT: `berth-e2e-${place}`,
    APP_NETWORK: `${APP_NETWORK}e${place}`,
    APP_SUBNET: `10.${180 + 7 * stackNumber + place}.0.1/16`,
    MACHINE_NETWORK: `${APP_NETWORK}e${place}m`,
    MACHINE_SUBNET: `10.${80 + 7 * stackNumber + place}.0.1/16`,
    BROKER_PORT: '7458',
    PUBLIC_ADDRESS: `127.0.${stackNumber}.${80 + place}`,
    STOP_TIMEOUT_SECONDS: '3',
    OPERATION_LEASE_SECONDS: '2',
  };
}

// What a test waits for takes its time where others keep the engine busy, and says by itself what did not happen.
jest.setTimeout(180_000);

const ROOMY = { servers: 1000, ram: 1_000_000, disk: 10_000_000, cpu: 100_000 };

/** As small as the contract allows, and enough for the starter programs. */
export const SMALL = { name: 'a service', runtime: 'python', ram: 128, disk: 512, cpu: 100 };

/** Whether a real engine runs on this machine: without one these tests could tell nothing. */
export const onEngine = stack.noEngine() === null ? describe : describe.skip;

/** A platform on the real engine, with nothing in the engine yet. */
export class Hosting {
  private readonly extra: RoleProcess[] = [];

  private constructor(
    readonly berth: Berth,
    readonly engine: Engine,
    private readonly place: Connection,
  ) {}

  /** The app network's gateway address, where programs reach what stands on this machine. */
  get gateway(): string {
    return this.berth.env.APP_SUBNET!.split('/')[0]!;
  }

  /** With `machines`, the image that they are made from is there too. */
  static async start({ machines = false, ...options }: BerthOptions & { machines?: boolean } = {}): Promise<Hosting> {
    const { number, claim } = await claimPlace();
    const settings = settingsOf(number);
    const engine = createEngine({
      url: settings.ENGINE_URL!,
      project: settings.ENGINE_PROJECT!,
      pool: stack.env().ENGINE_POOL!,
      poolSizeGb: Number(stack.env().ENGINE_POOL_SIZE_GB),
    });
    await prepare(engine, settings, machines ? [...RUNTIMES, MACHINE] : RUNTIMES);
    const env = { ...settings, ...options.env };
    const berth = await startBerth({ roles: ['api', 'worker', 'node', 'broker'], ...options, env });
    const limits = Object.entries(ROOMY).map(([name, value]) => `${name} = ${value}`);
    await berth.database.query(`UPDATE plans SET ${limits.join(', ')} WHERE id = 'pro'`);
    return new Hosting(berth, engine, claim);
  }

  /** One more process with these roles. It is killed at the end if it still runs then. */
  async add(roles: RoleName[], env: Record<string, string> = {}): Promise<RoleProcess> {
    const added = new RoleProcess(roles, { ...this.berth.env, METRICS_PORT: '0', ...env });
    this.extra.push(added);
    await added.start();
    return added;
  }

  /** Every container and volume there is, as `instance <name>` and `volume <name>`. */
  async inEngine(): Promise<string[]> {
    const [instances, volumes] = await Promise.all([this.engine.listInstances(), this.engine.listVolumes()]);
    return [...instances.map(({ name }) => `instance ${name}`), ...volumes.map(({ name }) => `volume ${name}`)].sort();
  }

  rows<T = Record<string, unknown>>(sql: string, values: unknown[] = []): Promise<T[]> {
    return this.berth.database.query<T[]>(sql, values);
  }

  /** That these services, and no others, have a container, a volume, an address and a port: one of each. */
  async expectExactly(ids: string[]): Promise<void> {
    const sorted = [...ids].sort();
    const owners = async (sql: string): Promise<unknown[]> =>
      (await this.rows<{ id: string }>(sql)).map(({ id }) => id);
    const wanted = sorted.flatMap((id) => [`instance ${engineName(id)}`, `volume ${engineName(id)}`]).sort();
    // What was made aside is removed after the end of its operation, or found by the search for leftovers.
    const exact = async () => String(await this.inEngine()) === String(wanted);
    await until('nothing else in the engine', exact, 90_000).catch(() => undefined);
    expect(await this.inEngine()).toEqual(wanted);
    expect(await owners('SELECT id FROM servers ORDER BY id')).toEqual(sorted);
    expect(
      await owners('SELECT server_id AS id FROM app_addresses WHERE server_id IS NOT NULL ORDER BY server_id'),
    ).toEqual(sorted);
    expect(await owners('SELECT server_id AS id FROM allocations ORDER BY server_id')).toEqual(sorted);
    const unfinished = await this.rows(
      "SELECT id, type, status, step FROM operations WHERE status IN ('QUEUED', 'RUNNING')",
    );
    expect(unfinished).toEqual([]);
  }

  /** Waits until no operation is under way any more. */
  async untilQuiet(timeoutMs = 120_000): Promise<void> {
    const unfinished =
      "SELECT id, type, resource_id, status, step, attempts, failures FROM operations WHERE status IN ('QUEUED', 'RUNNING')";
    let left: { resource_id: string }[] = [];
    try {
      await until('end of all operations', async () => (left = await this.rows(unfinished)).length === 0, timeoutMs);
    } catch (error) {
      const seen = await Promise.all(left.map(({ resource_id }) => this.seenInEngine(engineName(resource_id))));
      const told = [JSON.stringify(left), ...seen, this.berth.complaints()].join('\n');
      throw new Error(`${(error as Error).message}: ${told}`);
    }
  }

  private async seenInEngine(name: string): Promise<string> {
    const asked = ['getInstance', 'installExit', 'consoleLog'] as const;
    const answers = asked.map((question) => this.engine[question](name).catch(String));
    return JSON.stringify(await Promise.all(answers));
  }

  async close(): Promise<void> {
    await Promise.all(this.extra.map((added) => added.kill()));
    try {
      await this.berth.close();
    } finally {
      await empty(this.engine);
      await this.engine.close();
      await removeNetwork(this.berth.env.APP_NETWORK!);
      await removeNetwork(this.berth.env.MACHINE_NETWORK!);
      await this.place.end();
    }
  }
}

/** A number nobody else works under at the moment. MariaDB gives it back if this process dies. */
async function claimPlace(): Promise<{ number: number; claim: Connection }> {
  const claim = await createConnection({ uri: stack.env().DATABASE_URL! });
  // It is lost when a test restarts MariaDB; by then nobody else starts anything here.
  claim.on('error', () => undefined);
  for (let number = 1; number <= 7; number++) {
    const [rows] = await claim.query('SELECT GET_LOCK(?, 0) AS held', [`berth-test:engine:${number}`]);
    if (Number((rows as { held: unknown }[])[0]?.held) === 1) return { number, claim };
  }
  await claim.end();
  throw new Error('All places of the test engine are in use.');
}

async function prepare(engine: Engine, settings: Record<string, string>, images: readonly string[]): Promise<void> {
  const { APP_NETWORK, APP_SUBNET, MACHINE_NETWORK, MACHINE_SUBNET } = settings;
  await engine.ensureProject();
  await engine.ensurePool();
  await engine.ensureNetwork({ name: APP_NETWORK!, gateway: APP_SUBNET! });
  await engine.ensureNetwork({ name: MACHINE_NETWORK!, gateway: MACHINE_SUBNET!, dhcp: true });
  // A run that was cut short left things here.
  await empty(engine);
  const present = new Map((await engine.listImages()).map(({ alias, properties }) => [alias, properties[FILE]]));
  for (const alias of images) {
    const file = newestImage(alias);
    if (present.get(alias) === file) continue;
    await engine.importImage({
      alias,
      file: join(IMAGES, file),
      properties: { [FILE]: file, ...(alias === MACHINE ? DESCRIBED : {}) },
    });
  }
}

const MACHINE = 'debian/12';
const DESCRIBED = { 'berth.machine': 'true', description: 'Debian 12', os: 'Debian', release: '12' };

/** Image property that tells which file it came from. */
const FILE = 'berth.file';
const IMAGES = stack.env().BERTH_IMAGE_DIR!;

/** The file that `npm test` built for this image. */
function newestImage(alias: string): string {
  const files = readdirSync(IMAGES).filter(
    (name) => name.startsWith(`${alias.replace('/', '-')}-`) && name.endsWith('.tar.zst'),
  );
  const age = (name: string): number => statSync(join(IMAGES, name)).mtimeMs;
  const [newest] = files.sort((a, b) => age(b) - age(a));
  if (newest === undefined)
    throw new Error(`There is no image ${alias} in ${IMAGES}: use "npm test" or "berth image build".`);
  return newest;
}

/** A bridge would outlive the engine that made it. */
async function removeNetwork(name: string): Promise<void> {
  const dispatcher = new Agent({ connect: { socketPath: stack.env().ENGINE_URL!.replace(/^unix:/, '') } });
  const { body } = await request(`http://engine/1.0/networks/${name}`, { method: 'DELETE', dispatcher });
  await body.dump();
  await dispatcher.destroy();
}

async function empty(engine: Engine): Promise<void> {
  await Promise.all((await engine.listInstances()).map(({ name }) => engine.deleteInstance(name)));
  await Promise.all((await engine.listVolumes()).map(({ name }) => engine.deleteVolume(name)));
}

/** What the detail of a service says, as far as these tests look. */
export interface Server {
  id: string;
  uuid: string;
  status: string;
  image: string;
  limits: { ram: number; disk: number; cpu: number };
  primaryAllocation: { id: string; ip: string; port: number };
  lastOperation: { id: string; type: string; status: string; error: { code: string; detail: string } | null };
  appliedLive?: boolean;
}

/** Makes a service; it is INSTALLING when this answers. */
export async function createServer(api: Api, wanted: Partial<typeof SMALL> = {}): Promise<Server> {
  return (await api.post('/servers', { ...SMALL, ...wanted })).expect(201).body as Server;
}

const DEAD_ENDS = ['INSTALL_FAILED', 'CRASHED'];

/** Waits by long poll until the service has that status; a dead end on the way is an error at once. */
export async function reach(api: Api, id: string, status: string, seconds = 60): Promise<Server> {
  const ends = DEAD_ENDS.filter((end) => end !== status);
  const answer = await api.waitFor(`/servers/${id}`, [status, ...ends], seconds);
  const server = answer.body as Server;
  if (server.status !== status) throw new Error(`It is ${server.status}: ${answer.text}`);
  return server;
}

/** A service that runs already. */
export async function runningServer(api: Api, wanted: Partial<typeof SMALL> = {}): Promise<Server> {
  const { id } = await createServer(api, wanted);
  return reach(api, id, 'RUNNING');
}

/** Sends a power signal; answers the operation's id. */
export async function power(api: Api, id: string, signal: string): Promise<string> {
  return ((await api.post(`/servers/${id}/power`, { signal })).expect(202).body as { operationId: string }).operationId;
}

/** Sends a power signal and waits for its operation's end. */
export async function powered(api: Api, id: string, signal: string): Promise<Answer> {
  return ended(api, await power(api, id, signal));
}

export async function ended(api: Api, operationId: string, seconds = 120): Promise<Answer> {
  return api.waitFor(`/operations/${operationId}`, ['DONE', 'FAILED', 'CANCELLED'], seconds);
}

export async function setVariable(api: Api, id: string, key: string, value: string): Promise<void> {
  (await api.patch(`/servers/${id}/variables/${key}`, { value })).expect(200);
}

/** Names of the activity entries, oldest first. */
export async function activity(
  api: Api,
  id: string,
): Promise<{ event: string; properties: Record<string, unknown> }[]> {
  const entries = (await api.get(`/servers/${id}/activity`)).expect(200).body as {
    event: string;
    properties: Record<string, unknown>;
  }[];
  return entries.reverse();
}
