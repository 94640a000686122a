import type { Config } from '../../config/config.js';
import type { Engine } from '../../drivers/engine/engine.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import type { InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import type { LiveSessions } from '../sessions/live-sessions.js';
import { ConsoleHub } from './console-hub.js';
import { ConsoleServer } from './console-server.js';

export interface RunningConsole {
  /** What the control plane said the key of this node's tokens is. */
  useKey(key: string): void;
  close(): Promise<void>;
}

/** Opens the node's consoles. Nobody gets in before the control plane has told the key. */
export async function startConsole(
  config: Config,
  engine: Engine,
  api: InternalApiClient,
  sessions: LiveSessions,
  log: AppLogger,
): Promise<RunningConsole> {
  let key: Uint8Array | null = null;
  const hub = new ConsoleHub(engine, log);
  const server = new ConsoleServer(
    {
      host: config.consoleHost,
      port: config.consolePort,
      origins: [new URL(config.publicUrl).origin, ...config.consoleOrigins],
      addresses: new ClientAddresses(config.trustedProxies),
    },
    { hub, api, sessions, log, key: () => key },
  );
  sessions.watchServers((servers) => hub.controlPlaneSays(servers));
  hub.start();
  const port = await server.open();
  log.info({ port }, 'node serves consoles');
  return {
    useKey: (text) => (key = Buffer.from(text, 'base64url')),
    close: async () => {
      await server.close();
      await hub.stop();
    },
  };
}
