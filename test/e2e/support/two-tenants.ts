import type { Api } from '../../support/api.js';
import { BrokerClient } from './broker-client.js';
import { Hosting, runningServer, type Server } from './hosting.js';

export interface Access {
  via: string;
  address: string;
  keys: string[];
  refused: boolean;
  reason: string | null;
}

/** What the first one reads; one of its account's secrets is hidden by its own. */
export const OF_ONE = { OWN: 'canary-one', SHARED: 'canary-shared', TRICKY: `'"$x\n` };
export const OF_TWO = { OWN: 'canary-two' };

interface Tenant {
  api: Api;
  server: Server;
  program: BrokerClient;
}

/** Two services of two accounts with secrets, and a broker in a process of its own. */
export class TwoTenants {
  private constructor(
    readonly hosting: Hosting,
    readonly one: Tenant,
    readonly two: Tenant,
  ) {}

  static async start(): Promise<TwoTenants> {
    const hosting = await Hosting.start({ processes: [['api', 'worker', 'node'], ['broker']] });
    const tenant = async (): Promise<Tenant> => {
      const { api } = await hosting.berth.makeAccount();
      const server = await runningServer(api);
      return { api, server, program: new BrokerClient(hosting, server.id) };
    };
    const tenants = new TwoTenants(hosting, ...(await Promise.all([tenant(), tenant()])));
    const { one, two } = tenants;
    await put(one, 'OWN', OF_ONE.OWN);
    await put(one, 'TRICKY', OF_ONE.TRICKY);
    await put(two, 'OWN', OF_TWO.OWN);
    (await one.api.put('/vault', { key: 'OWN', value: 'canary-hidden' })).expect(201);
    (await one.api.put('/vault', { key: 'SHARED', value: OF_ONE.SHARED })).expect(201);
    return tenants;
  }

  /** The newest first. */
  async access({ api, server }: Tenant): Promise<Access[]> {
    return (await api.get(`/servers/${server.id}/vault/access`)).expect(200).body as Access[];
  }

  /** Also that no value stands in what the processes wrote. */
  async close(): Promise<void> {
    const logs = this.hosting.berth.processes.map((process) => process.log()).join('\n');
    await this.hosting.close();
    expect(logs).not.toContain('canary-');
  }
}

async function put({ api, server }: Tenant, key: string, value: string): Promise<void> {
  (await api.put(`/servers/${server.id}/vault`, { key, value })).expect(201);
}
