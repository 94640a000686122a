import { SimulatorTarget } from './support/simulator-target.js';
import { workshopContract } from './support/workshop-contract.js';

describe('simulator', () => workshopContract(new SimulatorTarget()));
