import { Command } from 'commander';
import { CommandFailure } from '../failure.js';
import { print } from '../output.js';

export function openApiCommand(): Command {
  return new Command('openapi')
    .description('write the OpenAPI documents of both surfaces from the code')
    .option('--check', 'write nothing; fail if the committed ones are not what the code says')
    .action(async ({ check }: { check?: boolean }, command: Command) => {
      const [{ ApiModule }, { checkOpenApi, writeOpenApi }] = await Promise.all([
        import('../../roles/api.module.js'),
        import('../../surfaces/openapi.js'),
      ]);
      const root = ApiModule.forDocuments();
      if (!check) return print(command, { written: await writeOpenApi(root) });
      const stale = await checkOpenApi(root);
      if (stale.length > 0) throw new CommandFailure(`out of date, run "berth openapi": ${stale.join(', ')}`);
      print(command, { stale });
    });
}
