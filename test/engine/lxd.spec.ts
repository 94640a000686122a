import { engineContract } from './support/engine-contract.js';
import { hasLxd, LxdTarget } from './support/lxd-target.js';

(hasLxd ? describe : describe.skip)('LXD', () => engineContract(new LxdTarget(0)));
