import { Command } from 'commander';
import { join, resolve } from 'node:path';
import { packageRoot } from '../../platform/files/package-root.js';
import { withEngine } from '../context.js';
import { CommandFailure } from '../failure.js';
import { print } from '../output.js';

interface BuiltImage {
  name: string;
  file: string;
  properties: Record<string, string>;
  built: boolean;
}

interface ImageBuilder {
  buildImages(options: { outDir: string; names?: string[]; log: (line: string) => void }): Promise<BuiltImage[]>;
}

interface AddOptions {
  server: string;
  source: string;
  description?: string;
}

/** Property of the images that machines are made from. */
const MACHINE = 'berth.machine';
const ALIAS = /^[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)*$/;

/** Property that tells which build an image is. */
const VERSION = 'berth.version';

export function imageCommand(): Command {
  const image = new Command('image').description('images that services and machines are made from');

  image
    .command('list')
    .description('images the engine has')
    .action(async (_options: object, command: Command) => {
      const images = await withEngine((engine) => engine.listImages());
      print(
        command,
        images.map(({ alias, fingerprint, sizeBytes, properties }) => ({
          alias,
          sizeBytes,
          version: properties[VERSION] ?? null,
          fingerprint,
        })),
      );
    });

  image
    .command('build [name...]')
    .description(
      'build the runtime and machine images from Debian packages and hand them to the engine; what is unchanged is left',
    )
    .action(async (names: string[], _options: object, command: Command) => {
      await withEngine(async (engine, config) => {
        const builder = (await import(join(packageRoot(), 'images', 'build.mjs'))) as ImageBuilder;
        const log = (line: string): void => void process.stderr.write(`${line}\n`);
        const outDir = resolve(packageRoot(), config.imageDir);
        const built = await builder.buildImages({ outDir, ...(names.length > 0 ? { names } : {}), log });
        const present = new Map(
          (await engine.listImages()).map(({ alias, properties }) => [alias, properties[VERSION]]),
        );
        for (const { name, file, properties } of built) {
          if (present.get(name) === properties[VERSION]) continue;
          log(`Image ${name}: handing it to the engine`);
          await engine.importImage({ alias: name, file, properties });
        }
        print(
          command,
          built.map(({ name, properties, built: fresh }) => ({ name, version: properties[VERSION], built: fresh })),
        );
      });
    });

  image
    .command('add <alias>')
    .description(
      'let tenants make machines from an image of a simplestreams server; it needs an init and an SSH server',
    )
    .requiredOption('--server <url>', 'address of the server')
    .requiredOption('--source <name>', 'what the image is called there, such as debian/12/cloud')
    .option('--description <text>', 'what tenants read')
    .action(async (alias: string, options: AddOptions, command: Command) => {
      if (!ALIAS.test(alias))
        throw new CommandFailure('An alias is words of letters, digits, dots and dashes between slashes.');
      const { server, source, description } = options;
      await withEngine(async (engine) => {
        if ((await engine.listImages()).some((one) => one.alias === alias && one.properties[MACHINE] !== 'true')) {
          throw new CommandFailure(`${alias} is an image of services.`);
        }
        const properties = { [MACHINE]: 'true', ...(description === undefined ? {} : { description }) };
        await engine.fetchImage({ alias, server, source, properties });
        const added = (await engine.listImages()).find((one) => one.alias === alias);
        print(command, { alias, sizeBytes: added?.sizeBytes ?? 0, fingerprint: added?.fingerprint ?? null });
      });
    });

  return image;
}
