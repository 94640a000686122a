import 'reflect-metadata';
import { ConfigError, loadConfig, type Role } from './config/config.js';
import { health } from './platform/observability/health.js';
import { createLogger } from './platform/observability/logger.js';
import { metrics } from './platform/observability/metrics.js';
import { OperatorListener } from './platform/observability/operator-listener.js';
import type { RunningRole, StartRole } from './roles/role.js';

/**
 * In the order in which they start: the node's packet filter is to stand before a worker starts anything behind it. What a role
 * is made of is loaded with it, so that a process has in it only what it is for.
 */
const ROLES: Record<Role, () => Promise<StartRole>> = {
  api: async () => (await import('./roles/api.js')).startApi,
  node: async () => (await import('./roles/node.js')).startNode,
  worker: async () => (await import('./roles/worker.js')).startWorker,
  broker: async () => (await import('./roles/broker.js')).startBroker,
};

/** What a graceful end may take before the process ends regardless. */
const SHUTDOWN_MS = 45_000;

async function main(): Promise<void> {
  const config = loadConfig();
  const log = createLogger(config);
  // Left alone, this signal opens Node's debugger, and by it the memory that secrets pass through.
  process.on('SIGUSR1', () => log.warn('SIGUSR1 is ignored'));
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));
  const { metricsHost: host, metricsPort: port } = config;
  const operators = await OperatorListener.open({ host, port, metrics, health, log });
  const running: { name: Role; role: RunningRole }[] = [];
  for (const name of Object.keys(ROLES) as Role[])
    if (config.roles.includes(name)) running.push({ name, role: await (await ROLES[name]())(config, log) });

  const end = async (signal: string): Promise<void> => {
    log.info({ signal }, 'ending');
    let closing = '';
    setTimeout(() => {
      log.error({ role: closing, resources: process.getActiveResourcesInfo() }, 'not ended in time');
      process.exit(1);
    }, SHUTDOWN_MS).unref();
    // The api goes last: the other roles still speak to it.
    for (const { name, role } of running.reverse()) {
      closing = name;
      try {
        await role.close();
        log.info({ role: name }, 'role ended');
      } catch (error) {
        // It must not keep the others from handing back what they have under way.
        log.error({ err: error, role: name }, 'role ended badly');
        process.exitCode = 1;
      }
    }
    await operators.close();
    log.info('ended');
    process.exit();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end(signal));
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof ConfigError ? error.message : String((error as Error).stack)}\n`);
  process.exit(1);
});
