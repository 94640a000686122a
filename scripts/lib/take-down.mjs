import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { storedEngine } from './engine-choice.mjs';
import { layoutOf, readJson } from './layout.mjs';
import { eraseFirewall } from './firewall.mjs';
import { takeLock } from './lock.mjs';
import { engineAnswers, eraseLxd, hasLeftovers, lxd, unmountBelow } from './lxd.mjs';
import { waitUntil } from './process.mjs';
import { recoverRecords } from './recovery.mjs';
import { SERVICE_ORDER, Supervisor, endProcess, runningRecord, runningRecords, startProcess } from './supervision.mjs';
import { eraseProject } from './engine-erase.mjs';

const TITLES = {
  berth: 'platform',
  'identity-provider': 'identity provider',
  lxd: 'LXD and the hosted programs',
  redis: 'Redis',
  'mariadb-tenant': 'MariaDB for tenants',
  mariadb: 'MariaDB',
};

/**
 * Ends what `up` started, roles first, state last. With `purge`, removes all it ever made as well.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {{ purge: boolean }} options
 */
export async function takeDown(steps, { purge }) {
  const layout = layoutOf('up');
  const free = takeLock(layout);
  const engine = storedEngine(layout);
  if (purge && engine?.kind === 'system' && engine.url) {
    await steps.step('engine project emptied', () =>
      eraseProject(engine.url ?? '', readJson(join(layout.state, 'network.json'))),
    );
  }
  const ended = await endAll(steps, layout);
  if (ended === 0 && !purge) steps.say('  ✓ nothing of it runs');
  if (purge)
    await eraseFirewall(layout).catch((error) => steps.say(`  ! firewall rules were not removed: ${error.message}`));
  if (purge) await steps.step('all data removed', () => eraseAll(layout));
  free();
  if (purge) rmSync(layout.run, { recursive: true, force: true });
}

/**
 * @param {import('./terminal.mjs').Steps} steps
 * @param {import('./layout.mjs').Layout} layout
 */
async function endAll(steps, layout) {
  recoverRecords(layout);
  // Without it nobody starts again what is ended now.
  await new Supervisor(layout).quit();
  await reviveEngine(layout);
  const records = new Map(runningRecords(layout.run).map((record) => [record.name, record]));
  const known = [...SERVICE_ORDER].reverse().filter((name) => records.has(name));
  const others = [...records.keys()].filter((name) => !known.includes(name));
  for (const name of [...others, ...known]) {
    const record = records.get(name);
    const title = TITLES[/** @type {keyof typeof TITLES} */ (name)] ?? name;
    if (record) await steps.step(`${title} stopped`, () => endProcess(layout.run, record));
  }
  return records.size;
}

/**
 * An LXD that was killed leaves its instances running. Only an LXD can end them cleanly and note that they ran, so one
 * is started for that.
 * @param {import('./layout.mjs').Layout} layout
 */
async function reviveEngine(layout) {
  const engine = lxd(layout);
  if (!existsSync(engine.folder) || runningRecord(layout.run, 'lxd')) return;
  if (!hasLeftovers(engine.folder)) return;
  const { child } = startProcess(layout.run, engine.service);
  child.on('error', () => {});
  child.unref();
  await waitUntil(() => engineAnswers(engine.socket).catch(() => false), 60_000);
}

/** @param {import('./layout.mjs').Layout} layout */
async function eraseAll(layout) {
  const network = readJson(join(layout.state, 'network.json'));
  await eraseLxd(join(layout.data, 'lxd'), network ? [network.name, `${network.name}m`] : []);
  await unmountBelow(layout.data);
  for (const folder of [layout.data, layout.state]) rmSync(folder, { recursive: true, force: true });
}
