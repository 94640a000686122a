import type { Config } from '../../config/config.js';

/**
 * Ports that the platform itself, or what it stands on, is reached by: whatever PORT_RANGE says, nobody gets one of
 * them. A program behind one could pass for the platform, or keep it from starting.
 */
export function reservedPorts(config: Config): ReadonlySet<number> {
  const listeners = [
    config.port,
    config.internalPort,
    config.metricsPort,
    config.brokerPort,
    config.consolePort,
    config.sftpPort,
  ];
  const addresses = [
    config.publicUrl,
    config.internalUrl,
    config.databaseUrl,
    config.redisUrl,
    config.engineUrl,
    config.oidcIssuer,
  ];
  const ports = addresses.flatMap((address) => {
    const port = address === undefined ? 0 : Number(new URL(address).port);
    return port > 0 ? [port] : [];
  });
  return new Set([...listeners, ...ports]);
}
