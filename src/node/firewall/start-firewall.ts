import type { Config } from '../../config/config.js';
import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { Firewall } from './firewall.js';
import { KeptTable } from './kept-table.js';
import { machineRules } from './machine-rules.js';
import { mayFilter } from './nftables.js';
import type { PublicPorts } from './open-to-guests.js';

/** Null where there is none, for a reason that is said once. */
export function startFirewall(config: Config, api: InternalApiClient, log: AppLogger): Firewall | null {
  const why = whyNot(config);
  if (why !== null) {
    log.info({ why }, 'no firewall: the rules of services are kept and not applied');
    return null;
  }
  const around = {
    network: config.appNetwork,
    gateway: gatewayOf(config.appSubnet),
    brokerPort: config.brokerPort,
    ...publicPorts(config),
  };
  const firewall = new Firewall(config.firewallTable, around, api, log);
  firewall.start();
  log.info({ table: config.firewallTable }, 'firewall follows the rules of services, and keeps them to the internet');
  return firewall;
}

/** Puts the rules around machines in place before anything else of this node begins. Null where there are none. */
export async function guardMachines(config: Config, log: AppLogger): Promise<KeptTable | null> {
  if (config.require('engineUrl').startsWith('simulator:')) return null;
  const rules = machineRules(config.firewallTable, {
    network: config.machineNetwork,
    gateway: gatewayOf(config.machineSubnet),
    appNetwork: config.appNetwork,
    ...publicPorts(config),
  });
  const table = KeptTable.for(config.firewall, rules, log);
  await table?.start();
  return table;
}

function publicPorts(config: Config): PublicPorts {
  return {
    publicAddresses: config.publicAddress,
    publicPorts: [
      ...[80, 443, config.port, config.cdnPort, config.consolePort, config.sftpPort],
      ...[config.pagesHttpPort, config.pagesHttpsPort],
    ],
    portRange: config.portRange,
  };
}

function gatewayOf(subnet: string): string {
  return subnet.split('/')[0]!;
}

function whyNot(config: Config): string | null {
  if (config.firewall === 'off') return 'FIREWALL is off';
  if (config.require('engineUrl').startsWith('simulator:')) return 'containers are simulated';
  return mayFilter() ? null : 'this process lacks CAP_NET_ADMIN';
}
