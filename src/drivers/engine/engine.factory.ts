import type { Engine, NetworkSpec } from './engine.js';
import { LxdEngine, type LxdEngineOptions } from './lxd/lxd-engine.js';
import { SimulatorEngine } from './simulator/simulator-engine.js';

const RUNTIMES = ['nodejs', 'python', 'java'];

export interface EngineOptions extends LxdEngineOptions {
  /** The services' network. A simulated engine forgets everything with its process, so it needs it from the start. */
  network?: NetworkSpec;
}

/** `unix:/path` and `https://host:8443` are an LXD or Incus; `simulator:` is the simulated engine in this process. */
export function createEngine(options: EngineOptions): Engine {
  if (options.url === 'simulator:')
    return new SimulatorEngine({ images: RUNTIMES, networks: options.network && [options.network] });
  if (/^(unix:|https:\/\/)/.test(options.url)) return new LxdEngine(options);
  throw new Error('The engine address is unix:/path, https://host:port or simulator:');
}
