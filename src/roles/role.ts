import type { Config } from '../config/config.js';
import type { AppLogger } from '../platform/observability/logger.js';

/** A role that runs in this process. */
export interface RunningRole {
  /** Ends what is under way or hands it back, then releases everything. */
  close(): Promise<void>;
}

export type StartRole = (config: Config, log: AppLogger) => Promise<RunningRole>;
