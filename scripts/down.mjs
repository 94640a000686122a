/** `npm run down`: ends what `npm run up` started; the data stays. `-- --purge` removes all of it as well. */
import { parseArgs } from 'node:util';
import { takeDown } from './lib/take-down.mjs';
import { Steps, printFailure } from './lib/terminal.mjs';

try {
  const { values } = parseArgs({ options: { purge: { type: 'boolean', default: false } } });
  await takeDown(new Steps(), { purge: values.purge });
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
