import { hasLxd, LxdTarget } from './support/lxd-target.js';
import { programContract } from './support/program-contract.js';

(hasLxd ? describe : describe.skip)('LXD', () => programContract(new LxdTarget(6)));
