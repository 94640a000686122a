import { Command } from 'commander';
import { withDataSource } from '../context.js';
import { CommandFailure } from '../failure.js';
import { print } from '../output.js';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description("bring the database's schema up to date; several at once do it once")
    .option('--check', 'change nothing; fail if entities and migrated schema differ')
    .action(async ({ check }: { check?: boolean }, command: Command) => {
      const { ENTITIES } = await import('../../modules/entities.js');
      const { migrate, schemaDrift } = await import('../../platform/database/migrate.js');
      await withDataSource(ENTITIES, async (dataSource) => {
        if (!check) return print(command, { applied: await migrate(dataSource) });
        const drift = await schemaDrift(dataSource);
        if (drift.length > 0) throw new CommandFailure(`the schema is not what the entities say:\n${drift.join('\n')}`);
        print(command, { drift });
      });
    });
}
