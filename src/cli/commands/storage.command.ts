import { Command } from 'commander';
import { loadConfig } from '../../config/config.js';
import { print } from '../output.js';

export function storageCommand(): Command {
  const storage = new Command('storage').description('the object store');

  storage
    .command('copy')
    .description(
      'copy all objects and backups that the other store does not have yet; it may be interrupted and run again, while the platform runs or not',
    )
    .requiredOption('--to <url>', 'the other store: s3://bucket/prefix or file:/path')
    .option('--from <url>', 'the store to copy from; OBJECT_STORE_URL when left out')
    .action(async ({ to, from }: { to: string; from?: string }, command: Command) => {
      const { blobStoreOptions, createBlobStore } = await import('../../drivers/objects/blob-store.factory.js');
      const { copyBlobs } = await import('../../drivers/objects/copy-blobs.js');
      const config = loadConfig();
      const [source, target] = await Promise.all(
        [from, to].map((url) => createBlobStore(blobStoreOptions(config, url))),
      );
      const progress = (done: number): void => void process.stderr.write(`\r${done} looked at`);
      const result = await copyBlobs(source!, target!, process.stderr.isTTY ? progress : undefined);
      if (process.stderr.isTTY) process.stderr.write('\n');
      print(command, { ...result });
    });

  return storage;
}
