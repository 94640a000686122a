/** Every daemon carries these in its environment: whose it is, what it is, and as what it was started. */
export const STACK_MARK = 'BERTH_STACK';
export const SERVICE_MARK = 'BERTH_SERVICE';
export const HASH_MARK = 'BERTH_SERVICE_HASH';

/**
 * An environment without anything the shell happened to hold, marked with the stack it is for.
 * @param {import('./layout.mjs').Layout} layout
 */
export function plainEnvironment(layout) {
  const env = /** @type {Record<string, string>} */ ({});
  env[STACK_MARK] = layout.state;
  env.PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  env.LANG = 'C.UTF-8';
  env.HOME = process.env.HOME ?? '/';
  if (process.env.TZ) env.TZ = process.env.TZ;
  return env;
}
