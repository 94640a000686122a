import { Command } from 'commander';
import type { OperationsAdmin } from '../../platform/operations/operations-admin.js';
import { withDatabase } from '../context.js';
import { print } from '../output.js';

const COLUMNS = ['id', 'type', 'resourceId', 'status', 'step', 'failures', 'errorCode', 'createdAt'];

export function operationCommand(): Command {
  const operation = new Command('operation').description('changes under way, and how they ended');

  operation
    .command('list')
    .description('newest first')
    .option('--status <status>', 'QUEUED, RUNNING, DONE, FAILED or CANCELLED')
    .option('--limit <count>', 'how many', '50')
    .action(async ({ status, limit }: { status?: string; limit: string }, command: Command) => {
      const found = await withOperations((operations) => operations.list(Number(limit), status));
      print(
        command,
        found.map((entry) => ({ ...entry })),
        COLUMNS,
      );
    });

  operation
    .command('retry <id>')
    .description('let an unfinished operation be taken up at once instead of at its next turn')
    .action(async (id: string, _options: object, command: Command) => {
      print(command, { ...(await withOperations((operations) => operations.retry(id))) });
    });

  return operation;
}

async function withOperations<T>(work: (operations: OperationsAdmin) => Promise<T>): Promise<T> {
  const { Operation } = await import('../../platform/operations/operation.entity.js');
  const { OperationsAdmin } = await import('../../platform/operations/operations-admin.js');
  return withDatabase([Operation], (database) => work(new OperationsAdmin(database)));
}
