import { sessionContract } from './support/session-contract.js';
import { SimulatorTarget } from './support/simulator-target.js';

describe('simulator', () => sessionContract(new SimulatorTarget()));
