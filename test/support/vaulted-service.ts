import type { Api } from './api.js';
import type { Berth } from './app.js';

/** A running service for the sake of its vault; answers its id. */
export async function vaultedService(api: Api): Promise<string> {
  const wanted = { name: 'vaulted', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 };
  const { id } = (await api.post('/servers', wanted)).expect(201).body as { id: string };
  await api.waitFor(`/servers/${id}`, 'RUNNING', 60);
  return id;
}

/** What reads the service's secrets with a token of its own, from wherever it is. */
export async function secretsClient(berth: Berth, api: Api, id: string): Promise<Api> {
  const made = (await api.post(`/servers/${id}/vault/token`, { addressLock: false })).expect(201);
  const { token } = made.body as { token: string };
  return berth.client('/vault/v1', { authorization: `Bearer ${token}` });
}
