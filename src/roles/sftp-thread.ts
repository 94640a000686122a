import { pino } from 'pino';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { loadConfig, readSecretFile, type Config } from '../config/config.js';
import { LiveSessions } from '../node/sessions/live-sessions.js';
import { offersSftp, startSftp, type RunningSftp } from '../node/sftp/start-sftp.js';
import { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import { createLogger, type AppLogger } from '../platform/observability/logger.js';
import { sharedEngine } from './engine.module.js';

/**
 * Buffers are freed with the small objects that stand for them. With little room for these that is soon; with much of it the
 * buffers would pile up until all that lives in the thread is searched, which took most of its time.
 */
const YOUNG_MB = 2;

/**
 * Runs SFTP in a thread of its own: file contents make much garbage, the cost of which grows with everything else that lives
 * in a thread, and ciphering them would hold up consoles and, where roles share a process, the API.
 */
export async function startSftpThread(config: Config, log: AppLogger): Promise<RunningSftp> {
  if (!offersSftp(config, log)) return { close: async () => {} };
  const thread = new Worker(new URL(import.meta.url), { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } });
  await once(thread, 'message');
  // As a fault in this thread would end the process.
  thread.on('error', (error) => {
    throw error;
  });
  return {
    close: async () => {
      const closed = once(thread, 'exit');
      thread.postMessage('close');
      await closed;
    },
  };
}

async function serve(): Promise<void> {
  const config = loadConfig();
  const log = createLogger(config, pino.destination({ fd: 1, sync: true })).child({ part: 'node' });
  const engine = sharedEngine(config);
  const api = new InternalApiClient(config.internalUrl, readSecretFile(config, 'nodeTokenFile'));
  const sessions = new LiveSessions(api, log);
  const sftp = await startSftp(config, engine, api, sessions, log);
  parentPort!.postMessage('listens');
  await once(parentPort!, 'message');
  await sessions.stop();
  await sftp.close();
  await engine.close();
  parentPort!.close();
}

if (!isMainThread) await serve();
