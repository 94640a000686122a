import { Command } from 'commander';
import { join, resolve } from 'node:path';
import { packageRoot } from '../../platform/files/package-root.js';
import { withEngine } from '../context.js';
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

/** Property that tells which build an image is. */
const VERSION = 'berth.version';

export function imageCommand(): Command {
  const image = new Command('image').description('images that services are made from');

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
    .description('build the runtime images from Debian packages and hand them to the engine; what is unchanged is left')
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

  return image;
}
