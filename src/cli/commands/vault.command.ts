import { Command, Option } from 'commander';
import type { Config } from '../../config/config.js';
import type { Keyring } from '../../platform/crypto/key-providers/keyring.js';
import { CommandFailure } from '../failure.js';
import { print } from '../output.js';
import { withVault } from '../vault-context.js';

export function vaultCommand(): Command {
  const vault = new Command('vault').description('the keys of the vault, and what it refuses');
  addAnchor(vault);
  addKeyring(vault);

  vault
    .command('rotate')
    .description('wrap the keys of all secrets by the provider’s current key, while serving; broken off, it goes on')
    .addOption(new Option('--seeds', 'give every scope a new key as well, and encrypt its secrets anew'))
    .action(async ({ seeds }: { seeds?: boolean }, command: Command) => {
      const done = await withVault(async ({ rotation }) => {
        const reseeded = seeds ? await rotation.reseed() : 0;
        return { reseeded, ...(await rotation.rewrap()) };
      });
      print(command, done);
      if (done.remaining > 0) throw new CommandFailure(`${done.remaining} keys are still wrapped by another key`);
    });

  vault
    .command('incidents')
    .description('what was refused as it is not as the platform left it, and what was accepted; newest first')
    .action(async (_options: object, command: Command) =>
      print(command, await withVault((opened) => opened.incidents()), ['id', 'scope', 'kind', 'detail', 'createdAt']),
    );

  return vault;
}

function addAnchor(vault: Command): void {
  const anchor = vault.command('anchor').description('what the vault has reached, noted outside of the database');
  anchor
    .command('accept')
    .description('serve secrets again that are refused because a backup was put back on purpose')
    .requiredOption('--scope <id>', 'id of a service or an account, or all')
    .requiredOption('--reason <words>', 'kept for good')
    .action(async ({ scope, reason }: { scope: string; reason: string }, command: Command) => {
      if (reason.trim().length < 3) throw new CommandFailure('say why: the reason is kept for good');
      const accepted = await withVault(async ({ acceptance }) => {
        const { scopeOfId } = await import('../../modules/vault/store/scope-name.js');
        const name = scope === 'all' ? null : scopeOfId(scope);
        if (scope !== 'all' && name === null) throw new CommandFailure('--scope is srv_..., usr_... or all');
        return acceptance.accept(name, reason.trim());
      });
      print(
        command,
        accepted.map((entry) => ({ ...entry })),
        ['scope', 'fault', 'refused'],
      );
      const refused = accepted.filter((entry) => entry.refused !== null).length;
      if (refused > 0) throw new CommandFailure(`${refused} of them stay refused`);
    });
}

/** The steps of a rotation of the local master key: add, promote, `berth vault rotate`, retire. */
function addKeyring(vault: Command): void {
  const keyring = vault.command('keyring').description('the local file with the master key');

  keyring
    .command('list')
    .description('its keys: the first is in use')
    .action((_options: object, command: Command) => withKeyring(command, ({ keys }) => keys));

  keyring
    .command('add')
    .description('add a key, which is not used yet; copy the file to all machines of the control plane then')
    .action((_options: object, command: Command) =>
      withKeyring(command, async ({ keys }) => {
        if (keys.length > 1) throw new CommandFailure('there is a second key already: promote or retire it');
        const { newKey } = await import('../../platform/crypto/key-providers/keyring.js');
        return [...keys, newKey()];
      }),
    );

  keyring
    .command('promote')
    .description('use the key that was added, and keep the one before until all is wrapped anew')
    .action((_options: object, command: Command) =>
      withKeyring(command, ({ keys: [first, second] }) => {
        if (!second) throw new CommandFailure('there is no second key: add one');
        return [second, first!];
      }),
    );

  keyring
    .command('retire')
    .description('remove the key that is not in use; refused while anything is wrapped by it')
    .action((_options: object, command: Command) =>
      withKeyring(command, async ({ keys: [first, second] }) => {
        if (!second) throw new CommandFailure('there is no second key');
        const wrapped = await withVault(({ rotation }) => rotation.wrappedBy(second.id));
        if (wrapped > 0) throw new CommandFailure(`${wrapped} keys are wrapped by it: run \`berth vault rotate\``);
        return [first!];
      }),
    );
}

async function withKeyring(
  command: Command,
  change: (ring: Keyring) => Keyring['keys'] | Promise<Keyring['keys']>,
): Promise<void> {
  const { readKeyring, writeKeyring } = await import('../../platform/crypto/key-providers/keyring.js');
  const file = (await vaultConfig()).require('masterKeyFile');
  const before = readKeyring(file);
  const keys = await change(before);
  if (keys !== before.keys) writeKeyring(file, keys);
  print(
    command,
    keys.map(({ id }, index) => ({ id, inUse: index === 0 })),
  );
}

async function vaultConfig(): Promise<Config> {
  const { vaultSettings } = await import('../vault-context.js');
  const config = vaultSettings();
  if (config.keyProvider !== 'local') throw new CommandFailure('KEY_PROVIDER is not local: there is no keyring');
  return config;
}
