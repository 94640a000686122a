import type { Engine } from '../../../src/drivers/engine/engine.js';
import { SimulatorEngine } from '../../../src/drivers/engine/simulator/simulator-engine.js';
import { EngineTarget } from './engine-target.js';
import type { Program } from './programs.js';

export class SimulatorTarget extends EngineTarget {
  readonly engine = new SimulatorEngine({ images: ['nodejs', 'debian/12'], startMs: 5 });
  readonly network = { name: 'simulated0', gateway: '10.0.0.1', prefix: '10.0.0' };
  readonly machineNetwork = { name: 'simulated1', gateway: '10.0.1.1', prefix: '10.0.1' };

  constructor() {
    super('simulator');
  }

  async open(): Promise<void> {
    await this.engine.ensureNetwork({ name: this.network.name, gateway: `${this.network.gateway}/24` });
  }

  async openMachines(): Promise<void> {
    const { name, gateway } = this.machineNetwork;
    await this.engine.ensureNetwork({ name, gateway: `${gateway}/24`, dhcp: true });
  }

  async close(): Promise<void> {
    await this.clean();
    await this.engine.close();
  }

  async unreachable(): Promise<Engine> {
    const engine = new SimulatorEngine();
    engine.faults.goAway();
    return engine;
  }

  protected program(name: string, { behaviour, installCommand }: Program): Record<string, string> {
    this.engine.behave(name, { installMs: 5, ...behaviour });
    return installCommand ? { INSTALL_COMMAND: installCommand } : {};
  }
}
