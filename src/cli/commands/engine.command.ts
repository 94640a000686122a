import { Command } from 'commander';
import { withEngine } from '../context.js';
import { print } from '../output.js';

export function engineCommand(): Command {
  const engine = new Command('engine').description('the container engine');

  engine
    .command('setup')
    .description('make the project, pool and network the platform needs; what is there stays')
    .action(async (_options: object, command: Command) => {
      await withEngine(async (engine, config) => {
        await engine.ensureProject();
        await engine.ensurePool();
        await engine.ensureNetwork({ name: config.appNetwork, gateway: config.appSubnet });
        print(command, { ...(await engine.info()) });
      });
    });

  return engine;
}
