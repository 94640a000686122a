import { Command } from 'commander';
import type { AccountsService } from '../../modules/accounts/accounts.service.js';
import type { ApiKeysService } from '../../modules/accounts/api-keys.service.js';
import type { ApiScope } from '../../platform/auth/principal.js';
import { withDatabase } from '../context.js';
import { CommandFailure } from '../failure.js';
import { print } from '../output.js';

const COLUMNS = ['id', 'name', 'prefix', 'scopes', 'lastUsedAt', 'expiresAt', 'revokedAt', 'createdAt'];

interface CreateOptions {
  account: string;
  scopes: ApiScope[];
  name?: string;
  expires?: Date;
  from?: string[];
}

export function keyCommand(): Command {
  const key = new Command('key').description('API keys');

  key
    .command('create')
    .description('make an API key; it is printed this once and kept nowhere')
    .requiredOption('--account <account>', 'id or username')
    .requiredOption('--scopes <scopes>', 'read, or read,write', (text) => commaList(text) as ApiScope[])
    .option('--name <name>', 'at most 64 characters')
    .option('--expires <moment>', 'such as 2031-12-31T00:00:00Z', (text) => new Date(text))
    .option('--from <addresses>', 'comma list of addresses and ranges it may be used from', commaList)
    .action(async (options: CreateOptions, command: Command) => {
      const made = await withKeys(async (keys, accounts) => {
        const { id } = await accounts.find(options.account);
        const { name, scopes, expires: expiresAt, from: allowedAddresses } = options;
        return keys.create(id, { name, scopes, expiresAt, allowedAddresses }, OPERATOR);
      });
      print(command, { ...made });
    });

  key
    .command('list')
    .description('the keys of an account, newest first')
    .requiredOption('--account <account>', 'id or username')
    .action(async (options: { account: string }, command: Command) => {
      const found = await withKeys(async (keys, accounts) => keys.list((await accounts.find(options.account)).id));
      print(
        command,
        found.map((entry) => ({ ...entry })),
        COLUMNS,
      );
    });

  key
    .command('revoke <id>')
    .description('refuse a key from its next request on')
    .action(async (id: string, _options: object, command: Command) => {
      const { isId } = await import('../../platform/ids/id.js');
      if (!isId('key', id)) throw new CommandFailure('a key is named by its id, key_...; `berth key list` shows it');
      print(command, { ...(await withKeys((keys) => keys.revokeAny(id, OPERATOR))) });
    });

  return key;
}

const OPERATOR = { actor: { type: 'system', id: null }, ip: null } as const;

function commaList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

async function withKeys<T>(work: (keys: ApiKeysService, accounts: AccountsService) => Promise<T>): Promise<T> {
  const [
    { ACCOUNT_ENTITIES },
    { AccountsService },
    { ApiKeysService },
    { QuotaLock },
    { ActivityEvent },
    { EventRecorder },
  ] = await Promise.all([
    import('../../modules/accounts/account-entities.js'),
    import('../../modules/accounts/accounts.service.js'),
    import('../../modules/accounts/api-keys.service.js'),
    import('../../modules/accounts/quota-lock.service.js'),
    import('../../platform/events/activity-event.entity.js'),
    import('../../platform/events/event-recorder.js'),
  ]);
  return withDatabase([...ACCOUNT_ENTITIES, ActivityEvent], (database) =>
    work(new ApiKeysService(database, new EventRecorder(database), new QuotaLock()), new AccountsService(database)),
  );
}
