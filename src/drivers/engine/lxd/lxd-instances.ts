import { setTimeout as delay } from 'node:timers/promises';
import {
  EngineError,
  type EngineInstance,
  type InstanceLimits,
  type InstanceSpec,
  type PublishedPort,
} from '../engine.js';
import {
  dateOf,
  instanceBody,
  instanceOf,
  isPortDevice,
  limitsConfig,
  portDevices,
  stateOf,
  type Config,
  type Devices,
  type InstanceRecord,
} from './instance-config.js';
import type { LxdContext } from './lxd-context.js';
import { environmentConfig, isEnvironmentKey } from './lxd-environment.js';

type InstanceBody = Pick<InstanceRecord, 'config' | 'devices'>;
type Change = Pick<InstanceRecord, 'config' | 'devices'>;

const EDIT_ATTEMPTS = 8;
const KILL_SECONDS = 30;
const IDMAP_SIZE = 65_536;
const BAD_IDMAP_BASE = 65_536;
/** How long a change waits for another one of the same instance to end. */
const BUSY_MS = 20_000;

/** A signal that comes before the first program of a container is set up for it is lost. */
const DEAF_MS = 5000;

/** Containers: making, changing, starting and ending them. */
export class LxdInstances {
  private creating: Promise<unknown> = Promise.resolve();

  constructor(private readonly context: LxdContext) {}

  async createInstance(spec: InstanceSpec): Promise<void> {
    const { pool } = this.context;
    const [dialect, prefix] = await Promise.all([this.context.dialect(), this.context.prefixLength(spec.network.name)]);
    await this.create(spec.name, instanceBody(spec, pool, prefix, dialect));
  }

  /**
   * One at a time: an engine that makes two isolated instances at once may give both the same user ids, or ids that are
   * not its own to give, because it does not see yet what the other one got.
   */
  async create(name: string, body: InstanceBody): Promise<void> {
    const turn = this.creating.then(() => this.createNow(name, body));
    this.creating = turn.catch(() => {});
    return turn;
  }

  private async createNow(name: string, { config: given, ...rest }: InstanceBody): Promise<void> {
    const { operations } = this.context;
    const body = { ...rest, config: { ...given, ...(await this.sharedIds(rest.devices)) } };
    await operations.run('POST', '/instances', { body });
    // Another process may have been making one too. A base this low is the mark of the mistake, and changing how many
    // ids there are makes the engine choose again.
    const { config } = await this.record(name);
    if (Number(config['volatile.idmap.base']) > BAD_IDMAP_BASE) return;
    const change = { config: { 'security.idmap.size': String(IDMAP_SIZE) } };
    await untilFree(() => operations.run('PATCH', path(name), { body: change }));
  }

  /**
   * A volume has one owner's ids on disk, so instances that hold it at once (a service, and a workshop on its files) must have
   * the same. They are one tenant's.
   */
  private async sharedIds(devices: Devices): Promise<Config> {
    const source = devices.data?.source;
    if (source === undefined) return {};
    const volume = `/storage-pools/${encodeURIComponent(this.context.pool)}/volumes/custom/${encodeURIComponent(source)}`;
    const { used_by } = await this.context.transport.get<{ used_by: string[] | null }>(volume);
    for (const user of used_by ?? []) {
      const [, holder] = /^\/1\.0\/instances\/([^/?]+)/.exec(user) ?? [];
      const base = holder && (await this.idBaseOf(decodeURIComponent(holder)));
      if (base) return { 'security.idmap.base': base };
    }
    return {};
  }

  private async idBaseOf(name: string): Promise<string | undefined> {
    try {
      return (await this.record(name)).config['volatile.idmap.base'];
    } catch (error) {
      // Removed since.
      if (error instanceof EngineError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  async getInstance(name: string): Promise<EngineInstance> {
    return instanceOf(await this.record(name));
  }

  async listInstances(): Promise<EngineInstance[]> {
    const query = { recursion: '1' };
    const records = await this.context.transport.get<InstanceRecord[]>('/instances', { query });
    return records.map(instanceOf);
  }

  async setLimits(name: string, limits: InstanceLimits): Promise<void> {
    const body = { config: limitsConfig(limits) };
    await untilFree(() => this.context.operations.run('PATCH', path(name), { body }));
  }

  async setEnvironment(name: string, environment: Record<string, string>): Promise<void> {
    const wanted = environmentConfig(environment);
    await this.edit(name, ({ config, devices }) => ({
      config: { ...without(config, isEnvironmentKey), ...wanted },
      devices,
    }));
  }

  async setPorts(name: string, ports: PublishedPort[]): Promise<void> {
    const wanted = portDevices(ports);
    await this.edit(name, ({ config, devices }) => ({
      config,
      devices: { ...without(devices, isPortDevice), ...wanted },
    }));
  }

  async startInstance(name: string): Promise<void> {
    const confirmed = await untilFree(() =>
      this.changeState(name, { action: 'start', timeout: -1 }, 'running', 60_000),
    );
    if (!confirmed) await this.openPorts(name);
  }

  /**
   * What was found running may have been started by an engine that ended right after: the program runs, and nobody listens on
   * its ports. A device that differs is taken out and put in again, so its `bind` goes to and fro between the default and none.
   */
  private async openPorts(name: string): Promise<void> {
    const given = await this.record(name);
    if (!Object.keys(given.devices).some(isPortDevice)) return;
    await this.edit(name, ({ config, devices }) => ({
      config,
      devices: mapEntries(devices, (device, key) => {
        // Rules of the packet filter are not bound to a process.
        if (!isPortDevice(key) || device.nat === 'true') return device;
        const { bind, ...rest } = device;
        return bind === undefined ? { ...rest, bind: 'host' } : rest;
      }),
    }));
  }

  async stopInstance(name: string, timeoutMs: number): Promise<void> {
    const asked = Date.now();
    try {
      await this.askToStop(name, timeoutMs);
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'timeout') throw error;
      const started = dateOf((await this.record(name)).last_used_at);
      if (!started || asked - started.getTime() > DEAF_MS) throw error;
      await this.askToStop(name, timeoutMs);
    }
  }

  private async askToStop(name: string, timeoutMs: number): Promise<void> {
    const timeout = Math.max(1, Math.ceil(timeoutMs / 1000));
    await this.changeState(name, { action: 'stop', timeout, force: false }, 'stopped', (timeout + 15) * 1000);
  }

  async killInstance(name: string): Promise<void> {
    await untilFree(() =>
      this.changeState(name, { action: 'stop', timeout: KILL_SECONDS, force: true }, 'stopped', KILL_SECONDS * 1000),
    );
  }

  async deleteInstance(name: string): Promise<void> {
    try {
      await untilFree(() => this.remove(name));
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'not_found') throw error;
    }
  }

  private async remove(name: string): Promise<void> {
    try {
      await this.context.operations.run('DELETE', path(name));
    } catch (error) {
      if (!(error instanceof EngineError) || !/running/i.test(error.message)) throw error;
      await this.killInstance(name);
      await this.context.operations.run('DELETE', path(name));
    }
  }

  /**
   * The engine calls it an error to start what runs and to stop what does not, and a stop fails when something else
   * ended the instance meanwhile; what counts is the state afterwards. Answers whether the engine itself said that it is done.
   */
  private async changeState(
    name: string,
    body: object,
    wanted: 'running' | 'stopped',
    waitMs: number,
  ): Promise<boolean> {
    let failure: EngineError | null = null;
    try {
      const ended = await this.context.operations.run('PUT', `${path(name)}/state`, { body, waitMs });
      if (ended !== null) return true;
    } catch (error) {
      if (!(error instanceof EngineError) || ['not_found', 'unavailable'].includes(error.code)) throw error;
      failure = error;
    }
    const { status } = await this.record(name);
    if (stateOf(status) === wanted) return false;
    // What ended without a trace ran: its program was over before we looked.
    if (failure !== null) throw failure;
    if (wanted === 'stopped') throw new EngineError('failed', `PUT ${path(name)}/state: it is ${status} still`);
    return false;
  }

  /** Only a full PUT can take a key or a device away, so it is read, edited and written unless somebody else was quicker. */
  async edit(name: string, change: (current: Change) => Change): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await untilFree(() => this.editOnce(name, change));
      } catch (error) {
        if (!isOutrun(error) || attempt === EDIT_ATTEMPTS) throw error;
        await delay(20 * attempt);
      }
    }
  }

  private async editOnce(name: string, change: (current: Change) => Change): Promise<void> {
    const { transport, operations } = this.context;
    const { metadata, etag } = await transport.call<InstanceRecord>('GET', path(name));
    const { architecture, description, ephemeral, profiles, stateful } = metadata;
    const body = { architecture, description, ephemeral, profiles, stateful, ...change(metadata) };
    await operations.run('PUT', path(name), { body, headers: etag ? { 'If-Match': etag } : {} });
  }

  private record(name: string): Promise<InstanceRecord> {
    return this.context.transport.get<InstanceRecord>(path(name));
  }
}

function path(name: string): string {
  return `/instances/${encodeURIComponent(name)}`;
}

function without<T>(entries: Record<string, T>, unwanted: (key: string) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => !unwanted(key)));
}

function mapEntries<T>(entries: Record<string, T>, change: (entry: T, key: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).map(([key, entry]) => [key, change(entry, key)]));
}

/** Somebody else changed the instance since it was read. */
function isOutrun(error: unknown): boolean {
  return error instanceof EngineError && /precondition|etag/i.test(error.message);
}

/** Another change of the same instance is under way. */
function isBusy(error: unknown): boolean {
  return error instanceof EngineError && /busy running|non-reusable operation/i.test(error.message);
}

async function untilFree<T>(work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + BUSY_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error;
      await delay(150);
    }
  }
}
