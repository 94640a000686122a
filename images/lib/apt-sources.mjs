import { run } from './run.mjs';

/**
 * The Debian repositories this machine itself uses, as one-line sources for `suite`. No repository address stands in
 * this code: images come from where the operator's own packages come from.
 */
export async function aptSources(suite) {
  const format = '$(ORIGIN)|$(RELEASE)|$(COMPONENT)|$(REPO_URI)';
  const list = async () => {
    const text = await run('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
    const lines = text.split('\n').map((line) => line.split('|'));
    const wanted = lines.filter(([origin, release]) => origin === 'Debian' && release?.split('-')[0] === suite);
    return [...new Set(wanted.map(([, release, component, uri]) => `deb ${uri} ${release} ${component}`))];
  };
  let sources = await list();
  if (sources.length === 0) {
    await run('apt-get', ['update']);
    sources = await list();
  }
  if (sources.length === 0) {
    throw new Error(`Building images needs this machine's apt to know the Debian ${suite} repositories`);
  }
  return sources;
}
