import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { REPOSITORY, readJson, writeJson } from './layout.mjs';
import { Failure } from './terminal.mjs';

/** Names of all settings, as `.env.example` lists them. */
export function settingNames() {
  const lines = readFileSync(join(REPOSITORY, '.env.example'), 'utf8').split('\n');
  return lines.flatMap((line) => /^#?\s?([A-Z][A-Z0-9_]*)=/.exec(line)?.[1] ?? []);
}

/**
 * The settings that somebody gave: the environment wins over `.env`, which wins over what an earlier `up` stored.
 * @param {import('./layout.mjs').Layout} layout
 * @returns {Record<string, string>}
 */
export function givenSettings(layout) {
  const names = settingNames();
  const file = join(REPOSITORY, '.env');
  const fromFile = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {};
  const unknown = Object.keys(fromFile).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new Failure(`unknown settings in .env: ${unknown.join(', ')}`, {
      advice: 'all settings are listed in .env.example',
    });
  }
  /** @type {Record<string, string>} */
  const settings = { ...readJson(join(layout.state, 'settings.json')) };
  for (const name of names) {
    const value = process.env[name] ?? fromFile[name];
    if (value !== undefined && value !== '') settings[name] = value;
  }
  return settings;
}

/**
 * @param {import('./layout.mjs').Layout} layout
 * @param {Record<string, string>} settings
 */
export function storeSettings(layout, settings) {
  writeJson(join(layout.state, 'settings.json'), settings);
}

/**
 * A port among the settings.
 * @param {Record<string, string>} settings
 * @param {string} name
 * @param {number} fallback
 */
export function portSetting(settings, name, fallback) {
  const text = settings[name];
  if (text === undefined) return fallback;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535) {
    throw new Failure(`the setting ${name} must be a port from 1 to 65535`);
  }
  return port;
}
