import { Command, CommanderError } from 'commander';
import { accountCommand } from './commands/account.command.js';
import { databaseHostCommand } from './commands/database-host.command.js';
import { engineCommand } from './commands/engine.command.js';
import { imageCommand } from './commands/image.command.js';
import { keyCommand } from './commands/key.command.js';
import { migrateCommand } from './commands/migrate.command.js';
import { nodeCommand } from './commands/node.command.js';
import { openApiCommand } from './commands/openapi.command.js';
import { operationCommand } from './commands/operation.command.js';
import { planCommand } from './commands/plan.command.js';
import { storageCommand } from './commands/storage.command.js';
import { vaultCommand } from './commands/vault.command.js';
import { explain } from './failure.js';

const FAILED = 1;
const MISUSED = 2;

/** One builder per noun. Each command loads what it needs when it runs, so that none pays for the others. */
const NOUNS: (() => Command)[] = [
  accountCommand,
  keyCommand,
  planCommand,
  nodeCommand,
  imageCommand,
  operationCommand,
  vaultCommand,
  storageCommand,
  engineCommand,
  databaseHostCommand,
  migrateCommand,
  openApiCommand,
];

/** Runs one command line and returns the exit code: 0 done, 1 failed, 2 misused. */
export async function berth(args: readonly string[]): Promise<number> {
  const program = new Command('berth')
    .description('Operates a Berth installation. Settings come from the environment or .env.')
    .option('--json', 'print JSON')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'berth: ')) });
  for (const noun of NOUNS) program.addCommand(noun());
  for (const command of descendants(program)) command.copyInheritedSettings(program);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    process.stderr.write(`berth: ${explain(error)}\n`);
    return FAILED;
  }
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}
