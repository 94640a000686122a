import type { Config } from '../../config/config.js';
import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { Firewall } from './firewall.js';
import { mayFilter } from './nftables.js';

/** Null where there is none, for a reason that is said once. */
export function startFirewall(config: Config, api: InternalApiClient, log: AppLogger): Firewall | null {
  const why = whyNot(config);
  if (why !== null) {
    log.info({ why }, 'no firewall: the rules of services are kept and not applied');
    return null;
  }
  const firewall = new Firewall(config.firewallTable, api, log);
  firewall.start();
  log.info({ table: config.firewallTable }, 'firewall follows the rules of services');
  return firewall;
}

function whyNot(config: Config): string | null {
  if (config.firewall === 'off') return 'FIREWALL is off';
  if (config.require('engineUrl').startsWith('simulator:')) return 'containers are simulated';
  return mayFilter() ? null : 'this process lacks CAP_NET_ADMIN';
}
