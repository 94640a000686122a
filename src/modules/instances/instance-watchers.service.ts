import { Injectable } from '@nestjs/common';
import type { ReportedInstance } from '../../platform/internal-api/internal-api.contract.js';

/** Somebody whose rows follow what nodes see. */
export interface InstanceWatcher {
  /** All that a node has, every few seconds. */
  seen(nodeId: string, instances: ReportedInstance[]): Promise<void>;
  /** This one has just stopped. */
  stopped(nodeId: string, name: string): Promise<void>;
}

/** Who wants to be told of nodes' instances. */
@Injectable()
export class InstanceWatchers {
  private readonly all: InstanceWatcher[] = [];

  register(watcher: InstanceWatcher): void {
    this.all.push(watcher);
  }

  async seen(nodeId: string, instances: ReportedInstance[]): Promise<void> {
    for (const watcher of this.all) await watcher.seen(nodeId, instances);
  }

  async stopped(nodeId: string, name: string): Promise<void> {
    for (const watcher of this.all) await watcher.stopped(nodeId, name);
  }
}
