import type { PublishedPort } from '../../../drivers/engine/engine.js';
import type { Allocation } from '../allocations/allocation.entity.js';

/** Ports of a service as the engine opens them: the same number inside and outside. */
export function publishedPorts(allocations: Allocation[]): PublishedPort[] {
  return allocations.map(({ id, protocol, ip, port }) => ({
    name: id.replace('_', '-'),
    protocol,
    listenAddress: ip,
    listenPort: port,
    targetPort: port,
  }));
}
