import type { Engine, NetworkSpec } from './engine.js';
import { LxdEngine, type LxdEngineOptions } from './lxd/lxd-engine.js';
import { SimulatorEngine } from './simulator/simulator-engine.js';

const RUNTIMES = ['nodejs', 'python', 'java'];
const MACHINE = {
  alias: 'debian/12',
  sizeBytes: 0,
  properties: { os: 'Debian', release: '12', description: 'Debian 12 (simulated)', 'berth.machine': 'true' },
};

export interface EngineOptions extends LxdEngineOptions {
  /** A simulated engine forgets everything with its process, so it needs them from the start. */
  networks?: NetworkSpec[];
}

/** `unix:/path` and `https://host:8443` are an LXD or Incus; `simulator:` is the simulated engine in this process. */
export function createEngine(options: EngineOptions): Engine {
  if (options.url === 'simulator:')
    return new SimulatorEngine({ images: [...RUNTIMES, MACHINE], networks: options.networks });
  if (/^(unix:|https:\/\/)/.test(options.url)) return new LxdEngine(options);
  throw new Error('The engine address is unix:/path, https://host:port or simulator:');
}
