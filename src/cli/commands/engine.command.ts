import { Command } from 'commander';
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

  return engine;
}
