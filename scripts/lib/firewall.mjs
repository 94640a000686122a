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
 * Keeps everything but this machine and the hosted programs away from the databases of services: a host answers on any of its
 * addresses, whichever interface a packet comes in by.
 * @param {import('./layout.mjs').Layout} layout
 * @param {{ network: string, gateway: string, port: number }} address
 */
export async function guardDatabases(layout, { network, gateway, port }) {
  const table = `table inet ${firewallTable(layout)}_databases`;
  const rule = `ip daddr ${gateway} tcp dport ${port} iifname != { "lo", "${network}" } reject with tcp reset`;
  const chain = `chain input {\ntype filter hook input priority -10; policy accept;\n${rule}\n}`;
  const input = `${table}\ndelete ${table}\n${table} {\n${chain}\n}\n`;
  await run(findProgram('nft') ?? 'nft', ['-f', '-'], { input, title: 'nft' });
}

/**
 * Removes the rules of services that no longer are; those of anybody else stay.
 * @param {import('./layout.mjs').Layout} layout
 */
export async function eraseFirewall(layout) {
  const nft = findProgram('nft');
  const own = `table inet ${firewallTable(layout)}`;
  const input = [own, `${own}_broker`, `${own}_databases`, `${own}_machines`]
    .map((table) => `${table}\ndelete ${table}\n`)
    .join('');
  if (nft) await run(nft, ['-f', '-'], { input, title: 'nft' });
}
