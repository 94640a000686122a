import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { NodeActivity } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';

const MERGE_MS = 60_000;
const MAX_PATHS = 20;

interface Merged {
  serverId: string;
  entry: NodeActivity;
  paths: Set<string>;
  count: number;
}

/**
 * What is done to files by way of this node, told to the control plane once a minute: a thousand files copied are one entry
 * that counts them and names the first few.
 */
export class ActivityReports {
  private merged = new Map<string, Merged>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly api: InternalApiClient,
    private readonly log: AppLogger,
  ) {}

  add(serverId: string, entry: Omit<NodeActivity, 'properties'>, path: string): void {
    const key = JSON.stringify([serverId, entry.event, entry.ip, entry.actor]);
    let merged = this.merged.get(key);
    if (!merged) {
      merged = { serverId, entry: { ...entry, properties: {} }, paths: new Set(), count: 0 };
      this.merged.set(key, merged);
    }
    merged.count++;
    if (merged.paths.size < MAX_PATHS) merged.paths.add(path);
    this.timer ??= setTimeout(() => void this.flush(), MERGE_MS);
  }

  /** Tells all there is now. What cannot be told is told of in the log, once; it is not kept. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const byServer = Map.groupBy(this.merged.values(), ({ serverId }) => serverId);
    this.merged = new Map();
    for (const [serverId, all] of byServer) {
      const entries = all.map(({ entry, paths, count }) => ({ ...entry, properties: { count, files: [...paths] } }));
      try {
        await this.api.activity(serverId, entries);
      } catch (error) {
        this.log.warn({ err: error, serverId, entries: entries.length }, 'activity of a service was not told');
      }
    }
  }
}
