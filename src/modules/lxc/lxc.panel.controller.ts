import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { MachineConsoleService } from './console/machine-console.service.js';
import { LxcRoutes } from './lxc.routes.js';
import { MachinePowerService } from './machine-power.service.js';
import { MachinesService } from './machines.service.js';
import { MachinePortsService } from './ports/machine-ports.service.js';
import { MachineResizeService } from './resize.service.js';
import { MachineUsageService } from './usage/machine-usage.service.js';

@PanelApi('lxc')
export class LxcPanelController extends LxcRoutes {
  constructor(
    machines: MachinesService,
    power: MachinePowerService,
    ports: MachinePortsService,
    resizing: MachineResizeService,
    usage: MachineUsageService,
    consoles: MachineConsoleService,
  ) {
    super(machines, power, ports, resizing, usage, consoles);
  }
}
