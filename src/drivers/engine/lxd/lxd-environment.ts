import { checkEnvironment } from '../environment-rules.js';

const PREFIX = 'environment.';
/**
 * Carries a value that the engine's own configuration format would trim or lose, as an `x` and its bytes in hexadecimal;
 * the image's entry turns it back.
 */
const HEX = `${PREFIX}BERTH_HEX_`;
/** Set by this adapter for the image's entry and not part of the service's environment. */
const RESOLVER = `${PREFIX}BERTH_RESOLVER`;

// Empty, blank at either end, or with control characters.
const FRAGILE = /^$|^\s|\s$|\p{Cc}/u;

export function environmentConfig(environment: Record<string, string>): Record<string, string> {
  checkEnvironment(environment);
  const config: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (FRAGILE.test(value)) config[`${HEX}${name}`] = `x${Buffer.from(value).toString('hex')}`;
    else config[`${PREFIX}${name}`] = value;
  }
  return config;
}

export function resolverConfig(address: string): Record<string, string> {
  return { [RESOLVER]: address };
}

/** True for the config keys that `environmentConfig` makes. */
export function isEnvironmentKey(key: string): boolean {
  return key.startsWith(PREFIX) && key !== RESOLVER;
}

export function environmentOf(config: Record<string, string>): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key.startsWith(HEX)) environment[key.slice(HEX.length)] = Buffer.from(value.slice(1), 'hex').toString();
    else if (isEnvironmentKey(key)) environment[key.slice(PREFIX.length)] = value;
  }
  return environment;
}
