import { readSecretFile, type Config } from '../config/config.js';
import { startConsole } from '../node/console/start-console.js';
import { DiskLimits } from '../node/disk-limits/disk-limits.js';
import { EngineWatcher } from '../node/events/engine-watcher.js';
import { guardMachines, startFirewall } from '../node/firewall/start-firewall.js';
import { LiveSessions } from '../node/sessions/live-sessions.js';
import { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import type { AppLogger } from '../platform/observability/logger.js';
import { sharedEngine } from './engine.module.js';
import type { RunningRole } from './role.js';
import { startSftpThread } from './sftp-thread.js';

/** What sits beside the programs on a hosting node. Has the local engine and the internal API, and nothing else. */
export async function startNode(config: Config, log: AppLogger): Promise<RunningRole> {
  const engine = sharedEngine(config);
  const api = new InternalApiClient(config.internalUrl, readSecretFile(config, 'nodeTokenFile'));
  const nodeLog = log.child({ part: 'node' });
  const machines = await guardMachines(config, nodeLog);
  const sessions = new LiveSessions(api, nodeLog);
  const consoles = await startConsole(config, engine, api, sessions, nodeLog);
  const sftp = await startSftpThread(config, nodeLog);
  const firewall = startFirewall(config, api, nodeLog);
  const limits = new DiskLimits(config.require('engineUrl'), config.enginePool, nodeLog);
  limits.start();
  const watcher = new EngineWatcher(
    engine,
    api,
    nodeLog,
    config.consoleUrl,
    ({ consoleKey }) => consoles.useKey(consoleKey),
    // Where this node keeps none, that is its operator's to see to.
    () => (machines?.stands ?? true) && (firewall?.stands ?? true),
  );
  watcher.start();
  log.info('node watches the engine');
  return {
    close: async () => {
      await sessions.stop();
      await Promise.all([consoles.close(), sftp.close(), firewall?.stop(), limits.stop()]);
      await watcher.stop();
      machines?.stop();
    },
  };
}
