import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import type { Engine } from '../../../src/drivers/engine/engine.js';
import { createEngine } from '../../../src/drivers/engine/engine.factory.js';
import { DiskLimits } from '../../../src/node/disk-limits/disk-limits.js';
import { createLogger } from '../../../src/platform/observability/logger.js';
import { EngineTarget } from './engine-target.js';
import type { Program } from './programs.js';

const IMAGES = join(import.meta.dirname, '..', '..', '..', 'images', 'build.mjs');
const {
  DATABASE_URL,
  ENGINE_URL,
  ENGINE_PROJECT,
  ENGINE_POOL,
  ENGINE_POOL_SIZE_GB,
  APP_NETWORK,
  APP_SUBNET,
  MACHINE_NETWORK,
  MACHINE_SUBNET,
  BERTH_IMAGE_DIR,
} = process.env;

/** Whether `npm test` found an engine to run on this machine. */
export const hasLxd = Boolean(ENGINE_URL);

export class LxdTarget extends EngineTarget {
  readonly engine: Engine;
  readonly network: { name: string; gateway: string; prefix: string };
  readonly machineNetwork: { name: string; gateway: string; prefix: string };
  readonly options = {
    url: ENGINE_URL ?? 'unix:/nonexistent',
    project: ENGINE_PROJECT ?? 'berth-test',
    pool: ENGINE_POOL ?? 'berth-test',
    poolSizeGb: Number(ENGINE_POOL_SIZE_GB ?? 20),
  };

  /** As a node keeps them: the kernel may give its counts up at any time. */
  private readonly limits = new DiskLimits(this.options.url, this.options.pool, createLogger({ logLevel: 'fatal' }));

  /** `group` keeps the addresses of suites apart. */
  constructor(group = 0) {
    super('LXD');
    this.engine = createEngine(this.options);
    const app = APP_SUBNET ?? '10.158.0.1/20';
    this.network = { name: APP_NETWORK ?? 'berthtest0', ...lastAddresses(app, group) };
    this.machineNetwork = { name: MACHINE_NETWORK ?? 'berthtest0m', ...lastAddresses(machineSubnet, group) };
  }

  async open(): Promise<void> {
    const { engine } = this;
    await engine.ensureProject();
    await Promise.all([
      engine.ensurePool(),
      engine.ensureNetwork({ name: this.network.name, gateway: APP_SUBNET ?? '10.158.0.1/20' }),
    ]);
    this.limits.start();
    await this.importImages(['nodejs']);
  }

  async openMachines(): Promise<void> {
    const { name } = this.machineNetwork;
    await this.engine.ensureNetwork({ name, gateway: machineSubnet, dhcp: true });
    await this.importImages(['debian/12']);
  }

  async importImages(names: string[]): Promise<void> {
    const args = [IMAGES, '--out', BERTH_IMAGE_DIR ?? '.berth/images', ...names];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
    const images = JSON.parse(stdout) as { name: string; file: string; properties: Record<string, string> }[];
    for (const { name, file, properties } of images) await this.engine.importImage({ alias: name, file, properties });
  }

  async close(): Promise<void> {
    await this.clean();
    await this.limits.stop();
    await this.engine.close();
  }

  async unreachable(): Promise<Engine> {
    return createEngine({ ...this.options, url: 'unix:/nonexistent/engine.socket' });
  }

  /** The raw API, for what the port must not be able to do. */
  raw<T>(method: string, path: string, body?: unknown): Promise<{ status: number; metadata: T }> {
    const socketPath = this.options.url.slice('unix:'.length);
    return new Promise((resolve, reject) => {
      const call = request({ socketPath, path, method, headers: { host: 'engine' } }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => {
          const answer = JSON.parse(text) as { metadata: T };
          resolve({ status: response.statusCode ?? 0, metadata: answer.metadata });
        });
      });
      call.on('error', reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Runs a program as the container's root, who may do what no tenant can; answers its exit code. */
  async asRoot(instance: string, command: string[]): Promise<number> {
    const { project } = this.options;
    const body = { command, 'record-output': false, 'wait-for-websocket': false, interactive: false };
    const started = await this.raw<{ id: string }>('POST', `/1.0/instances/${instance}/exec?project=${project}`, body);
    const path = `/1.0/operations/${started.metadata.id}/wait?timeout=60`;
    const ended = await this.raw<{ metadata: { return: number } }>('GET', path);
    return ended.metadata.metadata.return;
  }

  /** Runs a shell command as the tenant's own program would; the instance runs `TAKES_COMMANDS`. */
  async inside(address: string, command: string): Promise<{ code: number; output: string }> {
    const response = await fetch(`http://${address}:3000/`, {
      method: 'POST',
      body: command,
      signal: AbortSignal.timeout(25_000),
    });
    return (await response.json()) as { code: number; output: string };
  }

  /** Other spec files run beside this one, on the same engine: they wait for each other as workers do. */
  protected override async inCreationTurn(create: () => Promise<void>): Promise<void> {
    const holder = await createConnection({ uri: DATABASE_URL! });
    try {
      await holder.query("SELECT GET_LOCK('berth:create-instance', 60)");
      await create();
    } finally {
      await holder.end();
    }
  }

  protected program(_name: string, { source, installCommand }: Program): Record<string, string> {
    const encoded = Buffer.from(source).toString('base64');
    return { INSTALL_COMMAND: installCommand ?? `echo ${encoded} | base64 -d > index.js` };
  }
}

const machineSubnet = MACHINE_SUBNET ?? '10.58.0.1/20';

/** The gateway of a subnet, and the first three numbers of addresses at its end. */
function lastAddresses(subnet: string, group: number): { gateway: string; prefix: string } {
  const [gateway = '', length = '24'] = subnet.split('/');
  const octets = gateway.split('.').map(Number);
  const spare = 2 ** Math.max(0, 24 - Number(length));
  return { gateway, prefix: [octets[0], octets[1], (octets[2] ?? 0) + spare - 1 - group].join('.') };
}
