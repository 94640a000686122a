/**
 * The stack that tests run on: `node scripts/test-stack.mjs up` starts it beside any other and writes what the tests
 * find it by, `down` ends it and removes every trace.
 */
import { bringTestStack, keepTestStack, prepareTestEngine, removeTestStack } from './lib/test-stack.mjs';
import { Steps, printFailure } from './lib/terminal.mjs';

const steps = new Steps();
try {
  if (process.argv[2] === 'down') await removeTestStack(steps);
  else {
    const stack = await bringTestStack(steps, { images: true });
    await prepareTestEngine(steps, stack);
    keepTestStack(steps);
    steps.say('Its addresses and secrets stand in .berth-test/env. Use it: set -a; . .berth-test/env; set +a');
  }
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
