import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { conflict } from '../../../platform/errors/domain-error.js';
import {
  ConsoleHolders,
  type ConsoleHolder,
  type HolderStanding,
} from '../../servers/console/console-holders.service.js';
import { MachinePowerService } from '../machine-power.service.js';
import { MACHINE_POWER, type MachinePower } from '../machine-status.js';
import { Machine } from '../machine.entity.js';

/** What the consoles of nodes ask about machines. */
@Injectable()
export class ConsoleMachines implements ConsoleHolder {
  readonly prefix = 'lxc_';

  constructor(
    private readonly database: Database,
    private readonly power: MachinePowerService,
    holders: ConsoleHolders,
  ) {
    holders.register(this);
  }

  async onNode(nodeId: string, ids: string[]): Promise<HolderStanding[]> {
    const rows = await this.database.manager.findBy(Machine, { id: In(ids), nodeId });
    return rows
      .filter(({ status }) => status !== 'DELETING')
      .map(({ id, accountId, status, ramMb }) => ({ id, accountId, status, ram: ramMb }));
  }

  async signal(caller: Principal, id: string, signal: string): Promise<void> {
    if (!MACHINE_POWER.includes(signal as MachinePower)) {
      throw conflict('no_such_power', `A machine takes ${MACHINE_POWER.join(', ')}.`);
    }
    await this.power.send(caller, id, signal as MachinePower);
  }
}
