import { MachineAddress } from './machine-address.entity.js';
import { Machine } from './machine.entity.js';
import { MachinePort } from './ports/machine-port.entity.js';
import { MachineSnapshot } from './snapshots/machine-snapshot.entity.js';

/** The tables of this module, for whoever opens the database. */
export const LXC_ENTITIES = [Machine, MachineAddress, MachinePort, MachineSnapshot];
