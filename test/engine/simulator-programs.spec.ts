import { programContract } from './support/program-contract.js';
import { SimulatorTarget } from './support/simulator-target.js';

describe('simulator', () => programContract(new SimulatorTarget()));
