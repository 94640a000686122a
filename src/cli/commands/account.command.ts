import { Command } from 'commander';
import type { AccountsService } from '../../modules/accounts/accounts.service.js';
import { withDatabase } from '../context.js';
import { print } from '../output.js';

const COLUMNS = ['id', 'username', 'email', 'plan', 'status', 'createdAt'];

export function accountCommand(): Command {
  const account = new Command('account').description('accounts of the platform');

  account
    .command('create')
    .description('make an account')
    .requiredOption('--username <name>', 'lower case, 3 to 32 characters')
    .requiredOption('--email <address>')
    .option('--plan <plan>', 'the default plan when left out')
    .action(async (options: { username: string; email: string; plan?: string }, command: Command) =>
      print(command, { ...(await withAccounts((accounts) => accounts.create(options))) }),
    );

  account
    .command('list')
    .description('all accounts, newest first')
    .action(async (_options: object, command: Command) => {
      const found = await withAccounts((accounts) => accounts.list());
      print(
        command,
        found.map((entry) => ({ ...entry })),
        COLUMNS,
      );
    });

  account
    .command('set-plan <account> <plan>')
    .description('put an account (id or username) on another plan')
    .action(async (reference: string, plan: string, _options: object, command: Command) =>
      print(command, { ...(await withAccounts((accounts) => accounts.setPlan(reference, plan))) }),
    );

  account
    .command('suspend <account>')
    .description('refuse its keys and sessions from now on; its services stay as they are')
    .action(async (reference: string, _options: object, command: Command) =>
      print(command, { ...(await withAccounts((accounts) => accounts.setStatus(reference, 'suspended'))) }),
    );

  account
    .command('resume <account>')
    .description('lift a suspension')
    .action(async (reference: string, _options: object, command: Command) =>
      print(command, { ...(await withAccounts((accounts) => accounts.setStatus(reference, 'active'))) }),
    );

  account
    .command('sign-out <account>')
    .description('end all its browser sessions')
    .action(async (reference: string, _options: object, command: Command) =>
      print(command, { ...(await withAccounts((accounts) => accounts.endSessions(reference))) }),
    );

  return account;
}

async function withAccounts<T>(work: (accounts: AccountsService) => Promise<T>): Promise<T> {
  const { ACCOUNT_ENTITIES } = await import('../../modules/accounts/account-entities.js');
  const { AccountsService } = await import('../../modules/accounts/accounts.service.js');
  return withDatabase(ACCOUNT_ENTITIES, (database) => work(new AccountsService(database)));
}
