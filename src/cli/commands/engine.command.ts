import { Command } from 'commander';
import { loadConfig } from '../../config/config.js';
import { platformNetworks } from '../../roles/engine.module.js';
import { withEngine } from '../context.js';
import { print } from '../output.js';

export function engineCommand(): Command {
  const engine = new Command('engine').description('the container engine');

  engine
    .command('setup')
    .description('make the project, pool and networks the platform needs; what is there stays')
    .action(async (_options: object, command: Command) => {
      await withEngine(async (engine, config) => {
        await engine.ensureProject();
        await engine.ensurePool();
        for (const network of platformNetworks(config)) await engine.ensureNetwork(network);
        print(command, { ...(await engine.info()) });
      });
    });

  engine
    .command('keep-limits')
    .description('keep the pool holding volumes to their sizes, as root, until ended')
    .action(async () => {
      const [{ DiskLimits }, { createLogger }] = await Promise.all([
        import('../../node/disk-limits/disk-limits.js'),
        import('../../platform/observability/logger.js'),
      ]);
      if (process.getuid?.() !== 0) throw new Error('Only root may repair a pool.');
      const config = loadConfig();
      const limits = new DiskLimits(config.require('engineUrl'), config.enginePool, createLogger(config));
      limits.start();
      await new Promise((resolve) => ['SIGTERM', 'SIGINT'].forEach((signal) => process.once(signal, resolve)));
      await limits.stop();
    });

  return engine;
}
