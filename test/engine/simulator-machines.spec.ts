import { machineContract } from './support/machine-contract.js';
import { SimulatorTarget } from './support/simulator-target.js';

describe('machines of the simulator', () => machineContract(new SimulatorTarget()));
