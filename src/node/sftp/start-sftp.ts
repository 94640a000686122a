import type { Config } from '../../config/config.js';
import { DirectPath } from '../../drivers/engine/direct-path.js';
import type { Engine } from '../../drivers/engine/engine.js';
import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { ActivityReports } from '../activity/activity-reports.js';
import type { LiveSessions } from '../sessions/live-sessions.js';
import { readHostKey } from './host-key.js';
import { SftpListener } from './sftp-listener.js';
import { Workshops } from './workshops.js';

export interface RunningSftp {
  close(): Promise<void>;
}

/** Whether there is a way to services' files: not on a node without a host key, or with simulated containers. */
export function offersSftp(config: Config, log: AppLogger): boolean {
  const simulated = config.require('engineUrl').startsWith('simulator:');
  if (config.sftpHostKeyFile && !simulated) return true;
  log.info(simulated ? 'simulated containers have no files: no SFTP' : 'no SFTP_HOST_KEY_FILE: no SFTP');
  return false;
}

/** Opens the way to services' files. */
export async function startSftp(
  config: Config,
  engine: Engine,
  api: InternalApiClient,
  sessions: LiveSessions,
  log: AppLogger,
): Promise<RunningSftp> {
  const hostKey = readHostKey(config.require('sftpHostKeyFile'));
  const direct = DirectPath.for(config.require('engineUrl'), config.workshopSocketDir);
  const workshops = new Workshops(config.nodeName, engine, direct, log);
  const activity = new ActivityReports(api, log);
  const listener = new SftpListener(hostKey, api, { workshops, sessions, activity, log }, log);
  const port = await listener.listen(config.sftpHost, config.sftpPort);
  log.info({ host: config.sftpHost, port }, 'SFTP listens');
  return {
    close: async () => {
      await listener.close();
      await activity.flush();
      await workshops.close();
    },
  };
}
