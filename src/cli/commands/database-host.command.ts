import { Command } from 'commander';
import { readFileSync, statSync } from 'node:fs';
import type { HostRegistration, NewHost } from '../../modules/databases/lifecycle/host-registration.js';
import { filesOfUp, withDatabase } from '../context.js';
import { CommandFailure } from '../failure.js';
import { print } from '../output.js';

const COLUMNS = ['id', 'name', 'address', 'port', 'serviceAddress', 'servicePort', 'databases', 'capacity', 'fault'];

interface AddOptions {
  name: string;
  host: string;
  port: number;
  user: string;
  passwordFile: string;
  caFile?: string;
  serviceHost?: string;
  servicePort?: number;
  capacity: number;
}

export function databaseHostCommand(): Command {
  const host = new Command('database-host').description('servers that the databases of services live on');

  host
    .command('add')
    .description(
      'make a host known, or change what is known of the one with that name; one that is not hardened is refused',
    )
    .requiredOption('--name <name>', 'of a-z, 0-9 and -')
    .requiredOption('--host <host>', 'where the platform reaches it')
    .requiredOption('--port <port>', 'its port', Number)
    .requiredOption('--user <user>', 'an account that may make accounts and schemas, and end sessions')
    .requiredOption('--password-file <file>', 'a file of mode 0600 with its password')
    .option('--ca-file <file>', 'the certificate its own is signed by; needed when it is on another machine')
    .option('--service-host <host>', 'where hosted programs reach it; the same when left out')
    .option('--service-port <port>', 'the same when left out', Number)
    .requiredOption('--capacity <databases>', 'how many databases are put on it', Number)
    .action(async (options: AddOptions, command: Command) => {
      print(command, { ...(await withHosts((hosts) => hosts.add(hostOf(options)))) });
    });

  host
    .command('list')
    .description('all hosts, and what was wrong with them when they were looked at last')
    .action(async (_options: object, command: Command) => {
      const found = await withHosts((hosts) => hosts.list());
      print(
        command,
        found.map((entry) => ({ ...entry })),
        COLUMNS,
      );
    });

  host
    .command('remove <name>')
    .description('forget a host that no database lives on')
    .action(async (name: string, _options: object, command: Command) => {
      print(command, { ...(await withHosts((hosts) => hosts.remove(name))) });
    });

  host
    .command('check <name>')
    .description('look at a host now; fails when nothing may be put on it')
    .action(async (name: string, _options: object, command: Command) => {
      const checked = await withHosts((hosts) => hosts.check(name));
      print(command, { ...checked });
      if (checked.fault !== null) throw new CommandFailure(`nothing is put on ${name}: ${checked.fault}`);
    });

  return host;
}

function hostOf({ host, passwordFile, caFile, serviceHost, servicePort, ...rest }: AddOptions): NewHost {
  return {
    ...rest,
    address: host,
    password: readSecret(passwordFile),
    caCertificate: caFile === undefined ? null : readFileSync(caFile, 'utf8'),
    serviceAddress: serviceHost ?? host,
    servicePort: servicePort ?? rest.port,
  };
}

function readSecret(file: string): string {
  if ((statSync(file).mode & 0o077) !== 0) throw new CommandFailure(`${file} must have mode 0600`);
  const secret = readFileSync(file, 'utf8').trim();
  if (secret === '' || secret.length > 200)
    throw new CommandFailure(`${file} holds no password of 1 to 200 characters`);
  return secret;
}

async function withHosts<T>(work: (hosts: HostRegistration) => Promise<T>): Promise<T> {
  const [
    { loadConfig },
    { ENTITIES },
    { createDatabaseHosts },
    { DatabasePasswords },
    { HostLinks },
    { HostRegistration },
  ] = await Promise.all([
    import('../../config/config.js'),
    import('../../modules/entities.js'),
    import('../../drivers/database-host/database-host.factory.js'),
    import('../../modules/databases/database-passwords.js'),
    import('../../modules/databases/lifecycle/host-links.js'),
    import('../../modules/databases/lifecycle/host-registration.js'),
  ]);
  const config = loadConfig();
  if (config.databaseUrl === undefined) config.passwordKeyFile ??= filesOfUp().passwordKeyFile;
  return withDatabase(ENTITIES, (database) => {
    const passwords = new DatabasePasswords(config);
    return work(new HostRegistration(database, passwords, new HostLinks(createDatabaseHosts(), passwords)));
  });
}
