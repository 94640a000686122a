import { askEngine } from './lxd.mjs';

/**
 * Removes the platform's project, with all that is in it, from an engine that belongs to the machine.
 * @param {string} url `unix:` address of the engine
 * @param {{ name: string } | undefined} network the platform's bridge
 * @param {{ project?: string, pool?: string }} [names]
 */
export async function eraseProject(url, network, { project = 'berth', pool = 'berth' } = {}) {
  const socket = url.replace(/^unix:/, '');
  const inProject = `project=${project}`;
  const list = (/** @type {string} */ path) => askEngine(socket, path).catch(() => []);
  const remove = async (/** @type {string} */ path) => {
    const operation = await askEngine(socket, path, { method: 'DELETE', timeoutMs: 60_000 }).catch(() => undefined);
    if (operation?.id)
      await askEngine(socket, `/1.0/operations/${operation.id}/wait?timeout=60`, { timeoutMs: 65_000 }).catch(() => {});
  };
  for (const path of await list(`/1.0/instances?${inProject}`)) {
    const instance = path.split('?')[0];
    await stopInstance(socket, `${instance}/state?${inProject}`);
    await remove(`${instance}?${inProject}`);
  }
  for (const path of await list(`/1.0/storage-pools/${pool}/volumes/custom?${inProject}`)) {
    await remove(`${path.split('?')[0]}?${inProject}`);
  }
  for (const path of await list(`/1.0/images?${inProject}`)) await remove(`${path.split('?')[0]}?${inProject}`);
  for (const path of await list(`/1.0/profiles?${inProject}`)) {
    const profile = path.split('?')[0];
    if (!profile.endsWith('/default')) await remove(`${profile}?${inProject}`);
  }
  await remove(`/1.0/projects/${project}`);
  for (const name of network ? [network.name, `${network.name}m`] : []) await remove(`/1.0/networks/${name}`);
  await remove(`/1.0/storage-pools/${pool}`);
}

/**
 * @param {string} socket
 * @param {string} path
 */
async function stopInstance(socket, path) {
  const body = JSON.stringify({ action: 'stop', force: true, timeout: 30 });
  const operation = await askEngine(socket, path, { method: 'PUT', body }).catch(() => undefined);
  if (operation?.id)
    await askEngine(socket, `/1.0/operations/${operation.id}/wait?timeout=60`, { timeoutMs: 65_000 }).catch(() => {});
}
