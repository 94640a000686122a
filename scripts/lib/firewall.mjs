import { basename } from 'node:path';
import { findProgram } from './layout.mjs';
import { run } from './process.mjs';

/**
 * The packet filter's table of this stack, so that two on one machine do not take each other's.
 * @param {import('./layout.mjs').Layout} layout
 */
export function firewallTable(layout) {
  return basename(layout.run).replace(/[^a-z0-9]/g, '_');
}

/**
 * Removes the rules of services that no longer are; those of anybody else stay.
 * @param {import('./layout.mjs').Layout} layout
 */
export async function eraseFirewall(layout) {
  const nft = findProgram('nft');
  const own = `table inet ${firewallTable(layout)}`;
  const input = [own, `${own}_broker`].map((table) => `${table}\ndelete ${table}\n`).join('');
  if (nft) await run(nft, ['-f', '-'], { input, title: 'nft' });
}
