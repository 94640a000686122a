import { SimulatorEngine } from '../../../drivers/engine/simulator/simulator-engine.js';
import { ConsoleHub } from '../../../node/console/console-hub.js';
import { ConsoleServer } from '../../../node/console/console-server.js';
import { LiveSessions } from '../../../node/sessions/live-sessions.js';
import { ClientAddresses } from '../../../platform/http/client-address.js';
import { type ConsoleGrant, signConsoleToken } from '../../../platform/internal-api/console-token.js';
import type { InternalApiClient } from '../../../platform/internal-api/internal-api.client.js';
import { createLogger } from '../../../platform/observability/logger.js';
import type { ServerRepository } from '../server.repository.js';
import { ConsoleCommands } from './console-commands.service.js';
import type { ConsoleService } from './console.service.js';
import type { ConsoleTokens } from './console-tokens.service.js';

/** More than a node lets in at once from one address without a token. */
const SERVICES = 40;
const KEY = Buffer.alloc(32, 1);

const engine = new SimulatorEngine({ images: ['nodejs'], networks: [{ name: 'net', gateway: '10.0.0.1/24' }] });
const log = createLogger({ logLevel: 'fatal' });
const hub = new ConsoleHub(engine, log);
let asked = 0;
let answer: () => void;
const allAsk = new Promise<void>((resolve) => (answer = resolve));
const api = {
  sessions: async () => {
    if (++asked === SERVICES) answer();
    await allAsk;
    return { close: [], servers: [] };
  },
} as unknown as InternalApiClient;
const sessions = new LiveSessions(api, log);
const node = new ConsoleServer(
  { host: '127.0.0.1', port: 0, origins: [], addresses: new ClientAddresses([]) },
  { hub, api, sessions, log, key: () => KEY },
);

afterAll(async () => {
  await node.close();
  await sessions.stop();
  await hub.stop();
  await engine.close();
});

async function start(name: string, host: number): Promise<void> {
  await engine.createVolume({ name, sizeMb: 64, owner: 'usr_1' });
  await engine.createInstance({
    name,
    owner: 'usr_1',
    image: 'nodejs',
    volume: name,
    limits: { memoryMb: 128, cpuPercent: 100, processes: 100 },
    rootDiskMb: 64,
    network: { name: 'net', address: `10.0.0.${host}`, gateway: '10.0.0.1' },
    environment: {},
    ports: [],
  });
  await engine.startInstance(name);
}

test('the commands of many services that fall due together arrive', async () => {
  const numbers = Array.from({ length: SERVICES }, (_, index) => index + 10);
  await Promise.all(numbers.map((number) => start(`srv-${number}`, number)));
  const port = await node.open();
  const commands = new ConsoleCommands(
    {
      require: async (id: string) => ({
        id,
        uuid: `00000000-0000-4000-8000-0000000000${id.slice(4)}`,
        nodeId: 'nod_1',
        accountId: 'usr_1',
      }),
    } as unknown as ServerRepository,
    {
      socketOf: async ({ uuid }: { uuid: string }) => `ws://127.0.0.1:${port}/api/servers/${uuid}/ws`,
    } as unknown as ConsoleService,
    {
      sign: async (_: string, grant: ConsoleGrant) => ({ token: await signConsoleToken(KEY, grant) }),
    } as unknown as ConsoleTokens,
  );
  await Promise.all(numbers.map((number) => commands.send(`srv_${number}`, `save ${number}`)));
  for (const number of numbers) expect(await engine.consoleLog(`srv-${number}`)).toContain(`heard save ${number}`);
});
