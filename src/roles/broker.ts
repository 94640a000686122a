import { NestFactory } from '@nestjs/core';
import { BrokerListener } from '../broker/broker-listener.js';
import { BrokerRoutes } from '../broker/broker-routes.js';
import { BrokerSettings } from '../broker/broker-settings.js';
import { BrokerModule } from '../broker/broker.module.js';
import { CallerMap } from '../broker/caller-map.js';
import { brokerRules } from '../broker/network-gate.js';
import { SecretReads } from '../broker/secret-reads.service.js';
import { Subnet } from '../broker/subnet.js';
import { readSecretFile, type Config } from '../config/config.js';
import { KeptTable } from '../node/firewall/kept-table.js';
import { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import { NestLogger, type AppLogger } from '../platform/observability/logger.js';
import { sharedEngine } from './engine.module.js';
import type { RunningRole } from './role.js';

const LISTEN_AGAIN_MS = 2000;

/**
 * The broker listens on the app network's gateway address and on no other, so that only programs on that network reach it.
 * The address is there once the engine has made the network; until then it is tried again.
 */
export async function startBroker(config: Config, log: AppLogger): Promise<RunningRole> {
  if (config.require('engineUrl').startsWith('simulator:')) {
    log.warn('simulated containers cannot call a broker: none started');
    return { close: async () => {} };
  }
  // The signal would open the inspector, and with it all that is in memory.
  process.on('SIGUSR1', () => log.warn('SIGUSR1 is ignored'));
  const own = log.child({ part: 'broker' });
  const { gateway } = new Subnet(config.appSubnet);
  const callers = new CallerMap(sharedEngine(config), new Subnet(config.appSubnet), own);
  const parts = {
    settings: new BrokerSettings(gateway, config.brokerPort, config.brokerReadsPerMinute, config.brokerOfflineSeconds),
    callers,
    api: new InternalApiClient(config.internalUrl, readSecretFile(config, 'nodeTokenFile')),
    log: own,
  };
  const app = await NestFactory.createApplicationContext(BrokerModule.forRoot(parts), {
    logger: new NestLogger(log),
    abortOnError: false,
  });
  const listener = new BrokerListener(app.get(BrokerRoutes).handle);
  callers.onEnd = ({ address }) => listener.cutOff(address);
  callers.start();
  const gated = { network: config.appNetwork, gateway, port: config.brokerPort };
  const gate = KeptTable.for(config.firewall, brokerRules(config.firewallTable, gated), own);
  await gate?.start();
  const stopListening = keepListening(listener, config.brokerPort, gateway, log);
  return {
    close: async () => {
      stopListening();
      gate?.stop();
      await listener.close();
      await callers.stop();
      await app.get(SecretReads).close();
      await app.close();
    },
  };
}

/** Answers how to give up. */
function keepListening(listener: BrokerListener, port: number, gateway: string, log: AppLogger): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let complained = false;
  const listen = async (): Promise<void> => {
    try {
      await listener.listen(port, gateway);
      log.info({ gateway, port }, 'broker listens');
    } catch (error) {
      if (!complained) log.warn({ err: error }, 'broker cannot listen yet; trying until the app network is there');
      complained = true;
      if (!stopped) timer = setTimeout(() => void listen(), LISTEN_AGAIN_MS);
    }
  };
  void listen();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
