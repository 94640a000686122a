import { join } from 'node:path';
import { readJson, writeJson } from './layout.mjs';
import { systemEngine, whyNoEngine } from './lxd.mjs';
import { Failure } from './terminal.mjs';

/**
 * Which container engine a stack runs on: one that was given by ENGINE_URL, one the machine runs already, an LXD of our
 * own, or the simulated one.
 * @typedef {{ kind: 'given' | 'system' | 'own' | 'simulator', url?: string }} EngineChoice
 */

/**
 * Chosen once and kept: hosted programs live on it.
 * @param {import('./layout.mjs').Layout} layout
 * @param {string | undefined} asked value of --engine
 * @param {string | undefined} given ENGINE_URL
 * @returns {Promise<EngineChoice>}
 */
export async function chooseEngine(layout, asked, given) {
  if (given && !asked) return given.startsWith('simulator:') ? { kind: 'simulator' } : { kind: 'given', url: given };
  /** @type {EngineChoice | undefined} */
  const stored = readJson(engineFile(layout));
  if (asked === 'simulator') return { kind: 'simulator' };
  if (stored && !(asked === 'lxd' && stored.kind === 'simulator')) return stored;
  const socket = await systemEngine();
  if (socket) return { kind: 'system', url: `unix:${socket}` };
  const reason = whyNoEngine();
  if (reason) {
    throw new Failure(`no container engine can run here: ${reason}`, {
      advice: 'the whole API on simulated containers: npm run up -- --engine simulator',
    });
  }
  return { kind: 'own' };
}

/** @param {import('./layout.mjs').Layout} layout */
const engineFile = (layout) => join(layout.state, 'engine.json');

/**
 * @param {import('./layout.mjs').Layout} layout
 * @returns {EngineChoice | undefined}
 */
export function storedEngine(layout) {
  return readJson(engineFile(layout));
}

/**
 * @param {import('./layout.mjs').Layout} layout
 * @param {EngineChoice} choice
 */
export function storeEngine(layout, choice) {
  writeJson(engineFile(layout), choice);
}
