import { Command } from 'commander';
import type { NodesService } from '../../modules/nodes/nodes.service.js';
import { withDatabase } from '../context.js';
import { print } from '../output.js';

export function nodeCommand(): Command {
  const node = new Command('node').description('hosting nodes');

  node
    .command('list')
    .description('all nodes, and when they were heard of last')
    .action(async (_options: object, command: Command) => {
      const nodes = await withNodes((service) => service.list());
      print(
        command,
        nodes.map((entry) => ({ ...entry })),
      );
    });

  node
    .command('register')
    .description('make a node known, with the token in the file that NODE_TOKEN_FILE names')
    .option('--name <name>', 'its name; NODE_NAME when left out')
    .action(async ({ name }: { name?: string }, command: Command) => {
      const { loadConfig, readSecretFile } = await import('../../config/config.js');
      const config = loadConfig();
      const token = readSecretFile(config, 'nodeTokenFile');
      print(command, { ...(await withNodes((service) => service.register(name ?? config.nodeName, token))) });
    });

  return node;
}

async function withNodes<T>(work: (nodes: NodesService) => Promise<T>): Promise<T> {
  const { HostingNode } = await import('../../modules/nodes/node.entity.js');
  const { NodesService } = await import('../../modules/nodes/nodes.service.js');
  return withDatabase([HostingNode], (database) => work(new NodesService(database)));
}
