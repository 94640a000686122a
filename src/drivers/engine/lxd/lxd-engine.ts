import {
  Engine,
  type ConsoleAttachment,
  type EngineEvent,
  type EngineImage,
  type EngineInfo,
  type EngineInstance,
  type EngineVolume,
  type ExecSession,
  type ExecSpec,
  type InstanceLimits,
  type InstanceSpec,
  type InstanceUsage,
  type MachineLimits,
  type MachineSpec,
  type NetworkSpec,
  type ProgramExit,
  type PublishedPort,
  type RemoteImage,
  type VolumeSpec,
  type WorkshopSpec,
} from '../engine.js';
import { LxdConsole } from './lxd-console.js';
import { LxdContext } from './lxd-context.js';
import { lxdEndpoint, type LxdCredentials, type LxdEndpoint } from './lxd-endpoint.js';
import { watchEvents } from './lxd-events.js';
import { LxdExec } from './lxd-exec.js';
import { LxdFiles } from './lxd-files.js';
import { LxdImages, type ImageFile } from './lxd-images.js';
import { LxdInstances } from './lxd-instances.js';
import { LxdMachines } from './lxd-machines.js';
import { LxdOperations } from './lxd-operations.js';
import { LxdSetup } from './lxd-setup.js';
import { LxdState } from './lxd-state.js';
import { endStrayProxies } from './lxd-strays.js';
import { LxdTransport } from './lxd-transport.js';
import { LxdVolumes } from './lxd-volumes.js';
import { LxdWorkshops } from './lxd-workshops.js';

export interface LxdEngineOptions extends LxdCredentials {
  url: string;
  project: string;
  pool: string;
  /** Size of the pool's file where it has to be made; the engine's own choice when null. */
  poolSizeGb?: number | null;
}

/** The engine port on LXD >= 5.0 or Incus >= 6.0. Each group of calls stands in a file of its own. */
export class LxdEngine extends Engine {
  private readonly endpoint: LxdEndpoint;
  private readonly transport: LxdTransport;
  private readonly setup: LxdSetup;
  private readonly images: LxdImages;
  private readonly volumes: LxdVolumes;
  private readonly instances: LxdInstances;
  private readonly workshops: LxdWorkshops;
  private readonly machines: LxdMachines;
  private readonly state: LxdState;
  private readonly execs: LxdExec;
  private readonly consoles: LxdConsole;
  private readonly closed = new AbortController();

  constructor(private readonly options: LxdEngineOptions) {
    super();
    this.endpoint = lxdEndpoint(options.url, options);
    this.transport = new LxdTransport(this.endpoint, options.project);
    const operations = new LxdOperations(this.transport);
    const context = new LxdContext(this.transport, operations, options.project, options.pool);
    this.setup = new LxdSetup(context, options.poolSizeGb ?? null);
    this.images = new LxdImages(context);
    this.volumes = new LxdVolumes(context);
    this.instances = new LxdInstances(context);
    this.workshops = new LxdWorkshops(context, this.instances);
    const files = new LxdFiles(context);
    this.machines = new LxdMachines(context, this.instances, files);
    this.state = new LxdState(context, files);
    this.execs = new LxdExec(context, this.endpoint);
    this.consoles = new LxdConsole(context, this.endpoint, this.execs);
  }

  override info(): Promise<EngineInfo> {
    return this.setup.info();
  }

  override ensureProject(): Promise<void> {
    return this.setup.ensureProject();
  }

  override ensurePool(): Promise<void> {
    return this.setup.ensurePool();
  }

  override ensureNetwork(network: NetworkSpec): Promise<void> {
    return this.setup.ensureNetwork(network);
  }

  override listImages(): Promise<EngineImage[]> {
    return this.images.listImages();
  }

  override importImage(image: ImageFile): Promise<void> {
    return this.images.importImage(image);
  }

  override fetchImage(image: RemoteImage): Promise<void> {
    return this.images.fetchImage(image);
  }

  override createVolume(volume: VolumeSpec): Promise<void> {
    return this.volumes.createVolume(volume);
  }

  override getVolume(name: string): Promise<EngineVolume> {
    return this.volumes.getVolume(name);
  }

  override volumeUsage(name: string): Promise<number> {
    return this.volumes.volumeUsage(name);
  }

  override resizeVolume(name: string, sizeMb: number): Promise<void> {
    return this.volumes.resizeVolume(name, sizeMb);
  }

  override deleteVolume(name: string): Promise<void> {
    return this.volumes.deleteVolume(name);
  }

  override listVolumes(): Promise<EngineVolume[]> {
    return this.volumes.listVolumes();
  }

  override copyVolume(source: string, target: VolumeSpec): Promise<void> {
    return this.volumes.copyVolume(source, target);
  }

  override renameVolume(name: string, newName: string): Promise<void> {
    return this.volumes.renameVolume(name, newName);
  }

  override createInstance(spec: InstanceSpec): Promise<void> {
    return this.instances.createInstance(spec);
  }

  override getInstance(name: string): Promise<EngineInstance> {
    return this.instances.getInstance(name);
  }

  override listInstances(): Promise<EngineInstance[]> {
    return this.instances.listInstances();
  }

  override setLimits(name: string, limits: InstanceLimits): Promise<void> {
    return this.instances.setLimits(name, limits);
  }

  override setEnvironment(name: string, environment: Record<string, string>): Promise<void> {
    return this.instances.setEnvironment(name, environment);
  }

  override setPorts(name: string, ports: PublishedPort[]): Promise<void> {
    return this.instances.setPorts(name, ports);
  }

  override startInstance(name: string): Promise<void> {
    return this.instances.startInstance(name);
  }

  override stopInstance(name: string, timeoutMs: number): Promise<void> {
    return this.instances.stopInstance(name, timeoutMs);
  }

  override killInstance(name: string): Promise<void> {
    return this.instances.killInstance(name);
  }

  override deleteInstance(name: string): Promise<void> {
    return this.instances.deleteInstance(name);
  }

  override createWorkshop(spec: WorkshopSpec): Promise<void> {
    return this.workshops.createWorkshop(spec);
  }

  override createMachine(spec: MachineSpec): Promise<void> {
    return this.machines.createMachine(spec);
  }

  override setMachineLimits(name: string, limits: MachineLimits): Promise<void> {
    return this.machines.setMachineLimits(name, limits);
  }

  override createSnapshot(name: string, snapshot: string): Promise<void> {
    return this.machines.createSnapshot(name, snapshot);
  }

  override listSnapshots(name: string): Promise<string[]> {
    return this.machines.listSnapshots(name);
  }

  override restoreSnapshot(name: string, snapshot: string): Promise<void> {
    return this.machines.restoreSnapshot(name, snapshot);
  }

  override deleteSnapshot(name: string, snapshot: string): Promise<void> {
    return this.machines.deleteSnapshot(name, snapshot);
  }

  override instanceUsage(name: string): Promise<InstanceUsage> {
    return this.state.instanceUsage(name);
  }

  override lastExit(name: string): Promise<ProgramExit | null> {
    return this.state.lastExit(name);
  }

  override installExit(name: string): Promise<ProgramExit | null> {
    return this.state.installExit(name);
  }

  override consoleLog(name: string): Promise<string> {
    return this.state.consoleLog(name);
  }

  override exec(name: string, spec: ExecSpec): Promise<ExecSession> {
    return this.execs.exec(name, spec);
  }

  override attachConsole(name: string): Promise<ConsoleAttachment> {
    return this.consoles.attach(name);
  }

  override watch(
    listener: (event: EngineEvent) => void,
    onConnect: () => void,
    signal: AbortSignal,
    onBreak: () => void = () => {},
  ): void {
    const until = AbortSignal.any([signal, this.closed.signal]);
    watchEvents(this.endpoint, this.options.project, { listener, onConnect, onBreak }, until);
  }

  override async endStrays(): Promise<number> {
    const { socketPath } = this.endpoint.connect;
    return typeof socketPath === 'string' ? endStrayProxies(socketPath, this.options.project) : 0;
  }

  override async close(): Promise<void> {
    this.closed.abort();
    await this.transport.close();
  }
}
