import { randomBytes } from 'node:crypto';
import type { Engine, InstanceSpec, MachineSpec } from '../../../src/drivers/engine/engine.js';
import type { Program } from './programs.js';
import { until } from '../../support/until.js';

export type Overrides = Partial<Omit<InstanceSpec, 'environment' | 'name'>> & {
  environment?: Record<string, string>;
  volumeMb?: number;
};

/** An engine under test: how to come by one, and how to put a program into it. */
export abstract class EngineTarget {
  protected readonly made: string[] = [];
  private nextAddress = 0;

  constructor(readonly title: string) {}

  abstract readonly engine: Engine;
  abstract readonly network: { name: string; gateway: string; prefix: string };
  /** Where machines are put, in a target that has been readied for them. */
  abstract readonly machineNetwork: { name: string; gateway: string; prefix: string };
  abstract open(): Promise<void>;
  /** The machines' network, and the image `debian/12`. */
  abstract openMachines(): Promise<void>;
  abstract close(): Promise<void>;
  /** A second connection to where nothing listens. */
  abstract unreachable(): Promise<Engine>;
  /** Turns a program into what makes the engine run it. */
  protected abstract program(name: string, program: Program): Record<string, string>;

  newName(): string {
    return `t-${randomBytes(5).toString('hex')}`;
  }

  /** Makes a volume and a stopped instance whose first start installs and runs `program`. */
  async make(program: Program, overrides: Overrides = {}): Promise<InstanceSpec> {
    const name = this.newName();
    const spec = this.spec(name, program, overrides);
    await this.engine.createVolume({ name, sizeMb: overrides.volumeMb ?? 64, owner: spec.owner });
    this.made.push(name);
    await this.inCreationTurn(() => this.engine.createInstance(spec));
    return spec;
  }

  async started(program: Program): Promise<InstanceSpec> {
    const spec = await this.make(program);
    await this.engine.startInstance(spec.name);
    return spec;
  }

  untilStopped(name: string): Promise<unknown> {
    return until(`${name} stops`, async () => (await this.engine.getInstance(name)).state === 'stopped');
  }

  untilPrinted(name: string, text: string): Promise<unknown> {
    return until(`${name} prints ${text}`, async () => (await this.engine.consoleLog(name)).includes(text));
  }

  /** For engines that must not be asked for two new instances at the same moment. */
  protected inCreationTurn(create: () => Promise<void>): Promise<void> {
    return create();
  }

  spec(name: string, program: Program, overrides: Overrides = {}): InstanceSpec {
    const { environment = {}, volumeMb: _, ...rest } = overrides;
    return {
      name,
      owner: `owner-of-${name}`,
      image: 'nodejs',
      volume: name,
      limits: { memoryMb: 256, cpuPercent: 100, processes: 100 },
      rootDiskMb: 2048,
      network: { name: this.network.name, address: this.address(), gateway: this.network.gateway },
      ports: [],
      ...rest,
      environment: {
        BERTH_PHASE: 'install',
        SERVER_PORT: '3000',
        STARTUP_FILE: 'index.js',
        ...this.program(name, program),
        ...environment,
      },
    };
  }

  /** Makes a stopped machine; it is removed by `clean`. */
  async makeMachine(overrides: Partial<MachineSpec> = {}): Promise<MachineSpec> {
    const name = this.newName();
    const { prefix, name: network } = this.machineNetwork;
    const spec: MachineSpec = {
      name,
      owner: `owner-of-${name}`,
      image: 'debian/12',
      limits: { cpus: 1, memoryMb: 256, diskMb: 2048, processes: 500 },
      network: { name: network, address: `${prefix}.${250 - (this.nextAddress++ % 200)}` },
      authorizedKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f nobody',
      ports: [],
      ...overrides,
    };
    this.made.push(name);
    await this.inCreationTurn(() => this.engine.createMachine(spec));
    return spec;
  }

  async clean(): Promise<void> {
    for (const name of this.made.splice(0)) {
      await this.engine.deleteInstance(name);
      await this.engine.deleteVolume(name);
    }
  }

  /** Addresses from the end of the network, away from those other suites hand out. */
  address(): string {
    const last = 250 - (this.nextAddress++ % 200);
    return `${this.network.prefix}.${last}`;
  }
}
