import { stat } from 'node:fs/promises';
import { checkEnvironment, checkInstanceName } from '../environment-rules.js';
import {
  Engine,
  type ConsoleAttachment,
  EngineError,
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
import { simulateExec } from './simulated-exec.js';
import { type GivenImage, SimulatedImages } from './simulated-images.js';
import { refuseTakenPorts, SimulatedInstance, type ProgramBehaviour } from './simulated-instance.js';
import { RealClock, type SimulatorClock } from './simulator-clock.js';
import { SimulatedWorkshop, simulateTools } from './simulated-workshop.js';
import { SimulatedMachine } from './simulated-machine.js';
import { SimulatorFaults, type EngineMethod } from './simulator-faults.js';

interface SimulatedVolume extends VolumeSpec {
  createdAt: Date;
  usedBytes: number;
}

export interface SimulatorOptions {
  clock?: SimulatorClock;
  startMs?: number;
  /** Images and networks that are there from the start. */
  images?: readonly GivenImage[];
  networks?: NetworkSpec[];
}

const START_MS = 200;
const BASE_USAGE = 16 * 1024;

/**
 * An engine in memory that keeps the port's promises without a container: for trying the platform where no engine can
 * run, and for tests that need faults on demand. What it simulates can be steered by `faults`, `behave` and `crash`.
 */
export class SimulatorEngine extends Engine {
  readonly faults = new SimulatorFaults();
  private readonly clock: SimulatorClock;
  private readonly startMs: number;
  private readonly images: SimulatedImages;
  private readonly networks = new Map<string, NetworkSpec>();
  private readonly volumes = new Map<string, SimulatedVolume>();
  private readonly instances = new Map<string, SimulatedInstance>();
  private readonly listeners = new Set<(event: EngineEvent) => void>();
  private readonly behaviours = new Map<string, ProgramBehaviour>();
  private readonly closed = new AbortController();

  constructor({ clock = new RealClock(), startMs = START_MS, images = [], networks = [] }: SimulatorOptions = {}) {
    super();
    this.clock = clock;
    this.startMs = startMs;
    this.images = new SimulatedImages(images);
    for (const network of networks) this.networks.set(network.name, { ...network });
  }

  /** How the program of this instance behaves from its next start, also if the instance is made later. */
  behave(name: string, behaviour: ProgramBehaviour): void {
    this.behaviours.set(name, behaviour);
  }

  /** Ends the running program of this instance, as if by itself. */
  crash(name: string, ending: { code?: number; signal?: string; outOfMemory?: boolean } = {}): void {
    this.instance(name).crash(ending);
  }

  /** The machine that the engine is on loses its power and comes back. */
  powerCut(): void {
    this.faults.goAway();
    for (const instance of this.instances.values()) instance.cutOff();
    this.faults.comeBack();
  }

  /** Sets what a volume, or a machine's disk, holds. */
  fill(name: string, usedBytes: number): void {
    const machine = this.instances.get(name);
    if (machine instanceof SimulatedMachine) machine.usedBytes = usedBytes;
    else this.volume(name).usedBytes = usedBytes;
  }

  override async info(): Promise<EngineInfo> {
    await this.enter('info');
    return { kind: 'simulator', version: '1.0', member: 'simulator' };
  }

  override async ensureProject(): Promise<void> {
    await this.enter('ensureProject');
  }

  override async ensurePool(): Promise<void> {
    await this.enter('ensurePool');
  }

  override async ensureNetwork(network: NetworkSpec): Promise<void> {
    await this.enter('ensureNetwork');
    this.networks.set(network.name, { ...network });
  }

  override async listImages(): Promise<EngineImage[]> {
    await this.enter('listImages');
    return this.images.all();
  }

  override async importImage(image: {
    alias: string;
    file: string;
    properties: Record<string, string>;
  }): Promise<void> {
    await this.enter('importImage');
    this.images.add(image.alias, (await stat(image.file)).size, image.properties);
  }

  override async fetchImage({ alias, properties }: RemoteImage): Promise<void> {
    await this.enter('fetchImage');
    this.images.add(alias, 0, properties);
  }

  override async createVolume(volume: VolumeSpec): Promise<void> {
    await this.enter('createVolume');
    if (this.volumes.has(volume.name)) throw new EngineError('exists', `Volume ${volume.name} exists`);
    this.volumes.set(volume.name, { ...volume, createdAt: new Date(this.clock.now()), usedBytes: BASE_USAGE });
  }

  override async getVolume(name: string): Promise<EngineVolume> {
    await this.enter('getVolume');
    return this.describeVolume(this.volume(name));
  }

  override async volumeUsage(name: string): Promise<number> {
    await this.enter('volumeUsage');
    return this.volume(name).usedBytes;
  }

  override async resizeVolume(name: string, sizeMb: number): Promise<void> {
    await this.enter('resizeVolume');
    this.volume(name).sizeMb = sizeMb;
  }

  override async deleteVolume(name: string): Promise<void> {
    await this.enter('deleteVolume');
    if (this.usersOf(name).length > 0) throw new EngineError('conflict', `Volume ${name} is in use`);
    this.volumes.delete(name);
  }

  override async listVolumes(): Promise<EngineVolume[]> {
    await this.enter('listVolumes');
    return [...this.volumes.values()].map((volume) => this.describeVolume(volume));
  }

  override async copyVolume(source: string, target: VolumeSpec): Promise<void> {
    await this.enter('copyVolume');
    const { usedBytes } = this.volume(source);
    if (this.volumes.has(target.name)) throw new EngineError('exists', `Volume ${target.name} exists`);
    this.volumes.set(target.name, { ...target, createdAt: new Date(this.clock.now()), usedBytes });
  }

  override async renameVolume(name: string, newName: string): Promise<void> {
    await this.enter('renameVolume');
    const volume = this.volume(name);
    if (this.usersOf(name).length > 0) throw new EngineError('conflict', `Volume ${name} is in use`);
    if (this.volumes.has(newName)) throw new EngineError('exists', `Volume ${newName} exists`);
    this.volumes.delete(name);
    this.volumes.set(newName, { ...volume, name: newName });
  }

  override async createInstance(spec: InstanceSpec): Promise<void> {
    await this.enter('createInstance');
    checkEnvironment(spec.environment);
    this.mustBeFree(spec);
    if (!this.networks.has(spec.network.name)) throw new EngineError('not_found', 'Network not found');
    this.volume(spec.volume);
    this.instances.set(spec.name, new SimulatedInstance(structuredClone(spec), this.clock, this.emit));
  }

  override async createMachine(spec: MachineSpec): Promise<void> {
    await this.enter('createMachine');
    if (/[\r\n\0]/.test(spec.authorizedKey)) throw new EngineError('invalid', 'The key is more than one line');
    this.mustBeFree(spec);
    if (!this.networks.has(spec.network.name)) throw new EngineError('not_found', 'Network not found');
    this.instances.set(spec.name, new SimulatedMachine(structuredClone(spec), this.clock, this.emit));
  }

  override async setMachineLimits(name: string, limits: MachineLimits): Promise<void> {
    await this.enter('setMachineLimits');
    this.machine(name).resize(limits);
  }

  override async createSnapshot(name: string, snapshot: string): Promise<void> {
    await this.enter('createSnapshot');
    this.machine(name).takeSnapshot(snapshot);
  }

  override async listSnapshots(name: string): Promise<string[]> {
    await this.enter('listSnapshots');
    return this.machine(name).snapshotNames();
  }

  override async restoreSnapshot(name: string, snapshot: string): Promise<void> {
    await this.enter('restoreSnapshot');
    this.machine(name).restore(snapshot);
  }

  override async deleteSnapshot(name: string, snapshot: string): Promise<void> {
    await this.enter('deleteSnapshot');
    const machine = this.instances.get(name);
    if (machine instanceof SimulatedMachine) machine.forget(snapshot);
  }

  override async getInstance(name: string): Promise<EngineInstance> {
    await this.enter('getInstance');
    return this.instance(name).describe();
  }

  override async listInstances(): Promise<EngineInstance[]> {
    await this.enter('listInstances');
    return [...this.instances.values()].map((instance) => instance.describe());
  }

  override async setLimits(name: string, limits: InstanceLimits): Promise<void> {
    await this.enter('setLimits');
    this.instance(name).spec.limits = { ...limits };
  }

  override async setEnvironment(name: string, environment: Record<string, string>): Promise<void> {
    await this.enter('setEnvironment');
    checkEnvironment(environment);
    this.instance(name).spec.environment = { ...environment };
  }

  override async setPorts(name: string, ports: PublishedPort[]): Promise<void> {
    await this.enter('setPorts');
    const instance = this.instance(name);
    if (instance.running) refuseTakenPorts(this.instances.values(), name, ports);
    instance.spec.ports = structuredClone(ports);
  }

  override async startInstance(name: string): Promise<void> {
    await this.enter('startInstance');
    const instance = this.instance(name);
    if (instance.running) return;
    refuseTakenPorts(this.instances.values(), name, instance.spec.ports);
    await new Promise<void>((resolve) => this.clock.schedule(this.startMs, resolve));
    // It may have been removed, or started by somebody else, meanwhile.
    if (this.instance(name) !== instance) throw new EngineError('not_found', `Instance ${name} not found`);
    if (instance.running) return;
    instance.behaviour = this.behaviours.get(name) ?? {};
    instance.begin();
  }

  override async stopInstance(name: string, timeoutMs: number): Promise<void> {
    await this.enter('stopInstance');
    const instance = this.instance(name);
    if (instance.running) await instance.stop(timeoutMs);
  }

  override async killInstance(name: string): Promise<void> {
    await this.enter('killInstance');
    this.instance(name).kill();
  }

  override async deleteInstance(name: string): Promise<void> {
    await this.enter('deleteInstance');
    this.instances.get(name)?.kill();
    this.instances.delete(name);
  }

  override async createWorkshop(spec: WorkshopSpec): Promise<void> {
    await this.enter('createWorkshop');
    this.mustBeFree(spec);
    this.volume(spec.volume);
    this.instances.set(spec.name, new SimulatedWorkshop(structuredClone(spec), this.clock));
  }

  override async instanceUsage(name: string): Promise<InstanceUsage> {
    await this.enter('instanceUsage');
    return this.instance(name).usage();
  }

  override async lastExit(name: string): Promise<ProgramExit | null> {
    await this.enter('lastExit');
    return structuredClone(this.instance(name).exit);
  }

  override async installExit(name: string): Promise<ProgramExit | null> {
    await this.enter('installExit');
    return structuredClone(this.instance(name).install);
  }

  override async consoleLog(name: string): Promise<string> {
    await this.enter('consoleLog');
    return this.instance(name).console.log;
  }

  override async exec(name: string, { command, environment }: ExecSpec): Promise<ExecSession> {
    await this.enter('exec');
    checkEnvironment(environment);
    const instance = this.runningInstance(name);
    if (instance instanceof SimulatedWorkshop) return simulateTools(this.volume(instance.spec.volume), command);
    return simulateExec(instance, command, this.clock);
  }

  override async attachConsole(name: string): Promise<ConsoleAttachment> {
    await this.enter('attachConsole');
    return this.runningInstance(name).console.attach();
  }

  override watch(
    listener: (event: EngineEvent) => void,
    onConnect: () => void,
    signal: AbortSignal,
    onBreak: () => void = () => {},
  ): void {
    const until = AbortSignal.any([signal, this.closed.signal]);
    if (until.aborted) return;
    this.listeners.add(listener);
    const forget = this.faults.onChange(onConnect, onBreak);
    until.addEventListener('abort', () => {
      this.listeners.delete(listener);
      forget();
    });
    setImmediate(() => {
      if (!until.aborted && !this.faults.isAway) onConnect();
    });
  }

  override async endStrays(): Promise<number> {
    return 0;
  }

  override async close(): Promise<void> {
    this.closed.abort();
  }

  private readonly emit = (event: EngineEvent): void => {
    if (!this.faults.isAway) for (const listener of this.listeners) listener(event);
  };

  /** Every call: asynchronous as a real one, and subject to the planned faults. */
  private async enter(method: EngineMethod): Promise<void> {
    await Promise.resolve();
    this.faults.check(method);
  }

  private instance(name: string): SimulatedInstance {
    const instance = this.instances.get(name);
    if (!instance) throw new EngineError('not_found', `Instance ${name} not found`);
    return instance;
  }

  private mustBeFree({ name, image }: { name: string; image: string }): void {
    checkInstanceName(name);
    if (this.instances.has(name)) throw new EngineError('exists', `Instance ${name} exists`);
    if (!this.images.has(image)) throw new EngineError('not_found', `Image ${image} not found`);
  }

  private machine(name: string): SimulatedMachine {
    const machine = this.instance(name);
    if (!(machine instanceof SimulatedMachine)) throw new EngineError('not_found', `Machine ${name} not found`);
    return machine;
  }

  private runningInstance(name: string): SimulatedInstance {
    const instance = this.instance(name);
    if (!instance.running) throw new EngineError('conflict', `${name} does not run`);
    return instance;
  }

  private volume(name: string): SimulatedVolume {
    const volume = this.volumes.get(name);
    if (!volume) throw new EngineError('not_found', `Volume ${name} not found`);
    return volume;
  }

  private describeVolume({ name, sizeMb, owner, createdAt }: SimulatedVolume): EngineVolume {
    return { name, sizeMb, owner, createdAt, usedBy: this.usersOf(name) };
  }

  private usersOf(volume: string): string[] {
    return [...this.instances.values()].filter(({ spec }) => spec.volume === volume).map(({ spec }) => spec.name);
  }
}
