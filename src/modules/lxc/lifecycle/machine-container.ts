import { Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Config } from '../../../config/config.js';
import { Engine, EngineError, type MachineLimits, type PublishedPort } from '../../../drivers/engine/engine.js';
import { OperationFailed } from '../../../platform/operations/operation-handler.js';
import { InstanceMoves, tolerate } from '../../instances/lifecycle/instance-moves.service.js';
import { MachineNetwork } from '../machine-network.service.js';
import type { Machine } from '../machine.entity.js';
import { engineName, type MachineSize } from '../machine.operations.js';
import { MachineRepository } from '../machine.repository.js';
import type { MachinePort } from '../ports/machine-port.entity.js';

const MAX_PROCESSES = 4096;
/** How long one request to shut down is waited for before the next. */
const PATIENCE_MS = 6000;
const ASK_AGAIN_MS = 300;

/** Idempotent moves of one machine's container, that the operations are made of. */
@Injectable()
export class MachineContainer {
  constructor(
    private readonly config: Config,
    private readonly engine: Engine,
    private readonly moves: InstanceMoves,
    private readonly machines: MachineRepository,
    private readonly network: MachineNetwork,
  ) {}

  async ensure(machine: Machine): Promise<void> {
    const name = engineName(machine.id);
    const address = await this.network.addressOf(machine.id);
    const ports = publishedPorts(await this.machines.ports(machine.id), this.keepsVisitors ? address : undefined);
    await this.moves.ensure(name, () =>
      this.engine.createMachine({
        name,
        owner: machine.id,
        image: machine.image,
        limits: machineLimits(machine),
        network: { name: this.config.machineNetwork, address },
        authorizedKey: machine.sshKey,
        ports,
      }),
    );
  }

  start(machineId: string): Promise<void> {
    return this.moves.start(engineName(machineId));
  }

  /**
   * A clean shutdown, or by force when it takes too long: nobody could end it otherwise. An init that has just begun does not
   * hear it yet, so it is asked again.
   */
  async stop(machineId: string): Promise<void> {
    const name = engineName(machineId);
    const deadline = Date.now() + this.config.stopTimeoutSeconds * 1000;
    while (!(await this.moves.stop(name, Math.min(PATIENCE_MS, Math.max(1000, deadline - Date.now()))))) {
      if (Date.now() > deadline) return this.moves.kill(name);
      await delay(ASK_AGAIN_MS);
    }
  }

  /** A machine whose creation failed has no container; its next one is made by the rows. */
  async setLimits(machineId: string, size: MachineSize): Promise<void> {
    try {
      await tolerate('not_found', this.engine.setMachineLimits(engineName(machineId), machineLimits(size)));
    } catch (error) {
      if (error instanceof EngineError && error.code === 'conflict') {
        const detail = 'The disk cannot be made smaller than what is in use.';
        throw new OperationFailed('disk_in_use', detail, { cause: error });
      }
      throw error;
    }
  }

  /** Opens the ports that the rows say, but for `except`, and closes all others. */
  async setPorts(machineId: string, except?: string): Promise<void> {
    const ports = (await this.machines.ports(machineId)).filter(({ id }) => id !== except);
    const passTo = this.keepsVisitors ? await this.network.addressOf(machineId) : undefined;
    await tolerate('not_found', this.engine.setPorts(engineName(machineId), publishedPorts(ports, passTo)));
  }

  async remove(machineId: string): Promise<void> {
    await this.engine.deleteInstance(engineName(machineId));
  }

  /** Packets for a loopback address never pass the rules that hand them on, so a proxy has to take them. */
  private get keepsVisitors(): boolean {
    const address = this.config.publicAddress[0]!;
    return !address.includes(':') && !address.startsWith('127.');
  }
}

function publishedPorts(ports: MachinePort[], passTo?: string): PublishedPort[] {
  return ports.map(({ id, protocol, ip, publicPort, targetPort }) => ({
    name: engineName(id),
    protocol,
    listenAddress: ip,
    listenPort: publicPort,
    targetPort,
    ...(passTo === undefined ? {} : { passTo }),
  }));
}

function machineLimits({ cpu, ramMb, diskGb }: MachineSize): MachineLimits {
  return { cpus: cpu, memoryMb: ramMb, diskMb: diskGb * 1024, processes: MAX_PROCESSES };
}
