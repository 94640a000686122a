/** `npm run build`: src/ and migrations/ to dist/. Only what changed is compiled. */
import { build } from './lib/build.mjs';
import { dependenciesInstalled, installDependencies } from './lib/project.mjs';
import { Steps, printFailure } from './lib/terminal.mjs';

const steps = new Steps();
try {
  if (!dependenciesInstalled()) await steps.step('npm ci', installDependencies);
  await steps.step('build', async () => {
    const { compiled, removed } = await build();
    return `${compiled} files compiled, ${removed} removed`;
  });
} catch (error) {
  printFailure(error);
  process.exitCode = 1;
}
