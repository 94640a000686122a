import type { Api } from '../../support/api.js';
import { ended, reach, runningServer, setVariable, type Server } from './hosting.js';
import { installsProgram, Program } from './program.js';

export interface Backup {
  uuid: string;
  name: string;
  status: string;
  bytes: number | null;
  checksum: string | null;
  isLocked: boolean;
}

export interface Obedient {
  server: Server;
  program: Program;
}

/** A service that runs the obedient program. */
export async function obedient(api: Api, wanted: object = {}): Promise<Obedient> {
  const server = await runningServer(api, wanted);
  await setVariable(api, server.id, 'INSTALL_COMMAND', installsProgram());
  const { operationId } = (await api.post(`/servers/${server.id}/reinstall`)).expect(202).body as {
    operationId: string;
  };
  const { body } = await ended(api, operationId);
  if (body.status !== 'DONE') throw new Error(`the obedient program could not be installed: ${JSON.stringify(body)}`);
  const program = new Program(server);
  await program.text();
  return { server, program };
}

/** A backup that is complete. */
export async function backUp(api: Api, id: string, name?: string): Promise<Backup> {
  const { uuid } = (await api.post(`/servers/${id}/backups`, name === undefined ? {} : { name })).expect(201)
    .body as Backup;
  const answer = await api.waitFor(`/servers/${id}/backups/${uuid}`, ['READY', 'FAILED'], 60);
  const backup = answer.body as Backup;
  if (backup.status !== 'READY') throw new Error(`the backup failed: ${answer.text}`);
  return backup;
}

/** Restores a backup; answers how its operation ended. */
export async function restore(
  api: Api,
  id: string,
  uuid: string,
): Promise<{ status: string; error: { code: string } | null }> {
  const { operationId } = (await api.post(`/servers/${id}/backups/${uuid}/restore`)).expect(202).body as {
    operationId: string;
  };
  return (await ended(api, operationId, 60)).body as { status: string; error: { code: string } | null };
}

/** The same, where nothing may go wrong. */
export async function restored(
  api: Api,
  id: string,
  uuid: string,
  status: 'RUNNING' | 'STOPPED' = 'RUNNING',
): Promise<void> {
  const operation = await restore(api, id, uuid);
  if (operation.status !== 'DONE') throw new Error(`the restore failed: ${JSON.stringify(operation)}`);
  await reach(api, id, status);
}
