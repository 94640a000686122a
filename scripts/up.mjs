/**
 * `npm run up`: everything from a bare Debian to a running platform; run again, it mends what is missing or changed.
 *   -- --detach              return once healthy, instead of following the log
 *   -- --engine simulator    on simulated containers (--engine lxd goes back to real ones)
 */
import { parseArgs } from 'node:util';
import { bringUp } from './lib/bring-up.mjs';
import { follow } from './lib/follow.mjs';
import { Failure, Steps, printFailure } from './lib/terminal.mjs';
import { takeDown } from './lib/take-down.mjs';

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { detach: { type: 'boolean' }, engine: { type: 'string' }, help: { type: 'boolean' } },
    });
    if (values.engine && !['lxd', 'simulator'].includes(values.engine)) throw new Error('--engine is lxd or simulator');
    return values;
  } catch (error) {
    throw new Failure(/** @type {Error} */ (error).message, {
      advice: 'npm run up -- [--detach] [--engine lxd|simulator]',
    });
  }
}

const steps = new Steps();
try {
  const options = readOptions();
  if (options.help) steps.say('npm run up -- [--detach] [--engine lxd|simulator]');
  else {
    const running = await bringUp(steps, { engine: options.engine });
    if (!options.detach) {
      steps.say('\nFollowing the log; Ctrl-C ends the platform (npm run down does so too).\n');
      const ended = await follow(running);
      if (ended === 'interrupted') await takeDown(steps, { purge: false });
    }
  }
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
