import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { ConsoleService, type ConsoleAccess } from '../../servers/console/console.service.js';
import { MachineRepository } from '../machine.repository.js';

/** Lets callers onto a machine's console, where root is logged in. */
@Injectable()
export class MachineConsoleService {
  constructor(
    private readonly machines: MachineRepository,
    private readonly consoles: ConsoleService,
  ) {}

  async open(caller: Principal, id: string): Promise<ConsoleAccess> {
    return this.consoles.openFor(caller, await this.machines.findOwned(caller.accountId, id));
  }
}
