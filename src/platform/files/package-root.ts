import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of this package, from the sources as well as from the built files. */
export function packageRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('The files of this package are not together.');
    folder = parent;
  }
  return folder;
}
