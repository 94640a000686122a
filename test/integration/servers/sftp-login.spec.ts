import { SftpAccessService } from '../../../src/modules/servers/sftp/sftp-access.service.js';
import { SftpCredential } from '../../../src/modules/servers/sftp/sftp-credential.entity.js';
import { SftpCredentials } from '../../../src/modules/servers/sftp/sftp-credentials.js';
import { SftpLoginService } from '../../../src/modules/servers/sftp/sftp-login.service.js';
import { Server } from '../../../src/modules/servers/server.entity.js';
import { Account } from '../../../src/modules/accounts/account.entity.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { ServersApp } from './servers-app.js';

let app: ServersApp;
let caller: Principal;
let server: Server;
let logins: SftpLoginService;
let names = 0;

beforeAll(async () => {
  app = await ServersApp.start();
  await app.startWorker();
  caller = await app.makeCaller('files');
  const id = await app.makeServer(caller);
  server = await manager().findOneByOrFail(Server, { id });
  logins = app.api.get(SftpLoginService);
}, 60_000);
afterAll(() => app?.close());

const manager = () => app.database.source.manager;
const credentials = () => app.api.get(SftpCredentials);
const username = () => `files.${server.uuid.slice(0, 8)}`;
const refused = expect.objectContaining({ kind: 'unauthenticated' });

/** From an address of its own each time, so that one test's tries are none of another's. */
function login(name: string, password: string, address = `192.0.2.${++names}`) {
  return logins.login(server.nodeId, { username: name, password, address });
}

test('a service has one password from the first time that somebody asks, also when many ask at once', async () => {
  const secrets = await Promise.all(Array.from({ length: 10 }, () => credentials().of(server.id)));
  expect(new Set(secrets.map(({ password }) => password)).size).toBe(1);
  expect(secrets[0]!.password).toMatch(/^[\w-]{24}$/);
});

test('the right name and password open it, in any case of the name', async () => {
  const { password } = await credentials().of(server.id);
  const { accountId, image, id } = server;
  const expected = { serverId: id, accountId, image, credentialVersion: expect.any(Number) as number };
  expect(await login(username(), password)).toEqual(expected);
  expect(await login(username().toUpperCase(), password)).toEqual(expected);
});

test('anything else is refused with the same words', async () => {
  const { password } = await credentials().of(server.id);
  const other = await app.makeCaller('other-files');
  await app.makeServer(other);
  const words = await Promise.all(
    [
      [username(), `${password}x`],
      [username(), ''],
      ['files', password],
      ['files.00000000', password],
      [`other-files.${server.uuid.slice(0, 8)}`, password],
      [`nobody.${server.uuid.slice(0, 8)}`, password],
      [`files.${server.uuid.slice(0, 8)}\u0000`, password],
      [`fïles.${server.uuid.slice(0, 8)}`, password],
    ].map(([name, given]) =>
      login(name!, given!).then(
        () => 'in',
        (error: { kind: string; detail: string }) => `${error.kind} ${error.detail}`,
      ),
    ),
  );
  expect(new Set(words)).toEqual(new Set(['unauthenticated The name or the password is wrong.']));
  await expect(
    logins.login('nod_00000000000000000000000000', { username: username(), password, address: '192.0.2.200' }),
  ).rejects.toEqual(refused);
});

test('a new password ends the sessions of the old one', async () => {
  const { password, version } = await credentials().of(server.id);
  expect(await logins.endReason(server.nodeId, server.id, version)).toBeNull();
  const rotated = await app.api.get(SftpAccessService).rotatePassword(caller, server.id);
  expect(rotated.username).toBe(username());
  expect(rotated.password).not.toBe(password);
  expect(await logins.endReason(server.nodeId, server.id, version)).toBe('the password was changed');
  await expect(login(username(), password)).rejects.toEqual(refused);
  await expect(login(username(), rotated.password)).resolves.toBeDefined();
});

test('ten wrong tries a minute, of one name from one address, and then not even the right one', async () => {
  const { password } = await credentials().of(server.id);
  const tries = await Promise.allSettled(Array.from({ length: 30 }, () => login(username(), 'wrong', '192.0.2.250')));
  const kinds = tries.map((result) => (result.status === 'rejected' ? (result.reason as { kind: string }).kind : 'in'));
  expect(kinds.filter((kind) => kind === 'unauthenticated')).toHaveLength(10);
  expect(kinds.filter((kind) => kind === 'rate_limited')).toHaveLength(20);
  await expect(login(username(), password, '192.0.2.250')).rejects.toMatchObject({ kind: 'rate_limited' });
  await expect(login(username(), password, '192.0.2.251')).resolves.toBeDefined();
});

test('right ones are not counted', async () => {
  const { password } = await credentials().of(server.id);
  for (let round = 0; round < 15; round++) await login(username(), password, '192.0.2.252');
});

test('a suspended account, and a service that is being made anew, are closed', async () => {
  const { password, version } = await credentials().of(server.id);
  await manager().update(Account, { id: caller.accountId }, { status: 'suspended' });
  await expect(login(username(), password)).rejects.toEqual(refused);
  expect(await logins.endReason(server.nodeId, server.id, version)).toBe('the account is suspended');
  await manager().update(Account, { id: caller.accountId }, { status: 'active' });
  for (const status of ['REINSTALLING', 'RESTORING', 'DELETING'] as const) {
    await manager().update(Server, { id: server.id }, { status });
    await expect(login(username(), password)).rejects.toEqual(refused);
    expect(await logins.endReason(server.nodeId, server.id, version)).not.toBeNull();
  }
  await manager().update(Server, { id: server.id }, { status: 'STOPPED' });
  await expect(login(username(), password)).resolves.toBeDefined();
});

test('what is stored opens in its own row and version only, and shows nothing', async () => {
  const { password } = await credentials().of(server.id);
  const row = await manager().findOneByOrFail(SftpCredential, { serverId: server.id });
  expect(row.sealedPassword.includes(Buffer.from(password))).toBe(false);
  await manager().update(SftpCredential, { serverId: server.id }, { version: row.version + 1 });
  await expect(credentials().of(server.id)).rejects.toThrow();
  await manager().update(SftpCredential, { serverId: server.id }, { version: row.version });
});
