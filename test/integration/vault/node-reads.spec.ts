import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'undici';
import { newId } from '../../../src/platform/ids/id.js';
import type {
  ServedRead,
  VaultRead,
  VaultReadsAnswer,
  VaultServedRequest,
} from '../../../src/platform/internal-api/vault-reads.contract.js';
import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import { until } from '../../support/until.js';
import { vaultedService } from '../../support/vaulted-service.js';

/** What nodes ask the control plane for in the name of their programs. */

let berth: Berth;
let owner: TestAccount;

beforeAll(async () => {
  berth = await startBerth();
  owner = await berth.makeAccount();
});
afterAll(() => berth?.close());

const makeServer = (): Promise<string> => vaultedService(owner.api);

async function put(id: string | null, key: string, value: string): Promise<void> {
  (await owner.api.put(id === null ? '/vault' : `/servers/${id}/vault`, { key, value })).expect(200, 201);
}

/** As a node asks; it carries the node's token unless another is given. */
async function ask(path: string, body: object, token?: string): Promise<{ status: number; body: any }> {
  const own = readFileSync(berth.env['NODE_TOKEN_FILE']!, 'utf8').trim();
  const answer = await request(`${berth.internalUrl}/internal/node/vault/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token ?? own}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, body: text === '' ? undefined : JSON.parse(text) };
}

async function reads(...wanted: VaultRead[]): Promise<VaultReadsAnswer['services']> {
  return readsHolding({}, ...wanted);
}

/** As a node that was given secrets before. */
async function readsHolding(
  holds: Record<string, string>,
  ...wanted: VaultRead[]
): Promise<VaultReadsAnswer['services']> {
  const { status, body } = await ask('reads', { reads: wanted, holds });
  expect([status, body]).toEqual([200, expect.anything()]);
  return (body as VaultReadsAnswer).services;
}

const STATE = expect.stringMatching(/^[\w-]{43}$/) as string;

const A_READ: VaultRead = {
  id: randomUUID(),
  serverId: newId('srv'),
  address: '10.0.0.1',
  at: new Date().toISOString(),
  refused: null,
};

async function addressOf(id: string): Promise<string> {
  const [row] = await berth.database.query<{ ip: number }[]>('SELECT ip FROM app_addresses WHERE server_id = ?', [id]);
  return [24, 16, 8, 0].map((shift) => Math.floor(row!.ip / 2 ** shift) % 256).join('.');
}

async function readOf(id: string, more: Partial<VaultRead> = {}): Promise<VaultRead> {
  const at = new Date().toISOString();
  return { id: randomUUID(), serverId: id, address: await addressOf(id), at, refused: null, ...more };
}

async function access(id: string): Promise<any[]> {
  return (await owner.api.get(`/servers/${id}/vault/access`)).expect(200).body as any[];
}

test('nodes are given the secrets of their own services, by the address of the ledger, each read recorded once', async () => {
  const id = await makeServer();
  await put(id, 'A', '1');
  await put(id, 'B', 'ü');
  const [first, second] = [await readOf(id), await readOf(id)];
  const secrets = [
    { key: 'A', value: '1' },
    { key: 'B', value: 'ü' },
  ];
  expect(await reads(first, second)).toEqual({ [id]: { state: STATE, secrets } });
  expect(await reads(first)).toEqual({ [id]: { state: STATE, secrets } });
  expect(await access(id)).toEqual([
    { at: second.at, via: 'broker', address: second.address, keys: ['A', 'B'], refused: false, reason: null },
    { at: first.at, via: 'broker', address: first.address, keys: ['A', 'B'], refused: false, reason: null },
  ]);
});

test('nodes are told nothing of a wrong address, of what does not run, of another node’s, or of nothing', async () => {
  const id = await makeServer();
  await put(id, 'A', '1');
  const unknown = { [id]: { refused: 'unknown' } };
  expect(await reads(await readOf(id, { address: '10.158.9.9' }))).toEqual(unknown);
  expect(await reads(await readOf(id), await readOf(id, { address: '10.158.9.9' }))).toEqual(unknown);
  const nothing = newId('srv');
  expect(await reads({ ...(await readOf(id)), serverId: nothing })).toEqual({ [nothing]: { refused: 'unknown' } });
  for (const [status, isServed] of [
    ['STARTING', true],
    ['STOPPING', false],
    ['CRASHED', false],
    ['INSTALL_FAILED', false],
    ['DELETING', false],
    ['INSTALLING', true],
    ['REINSTALLING', true],
    ['RUNNING', true],
  ] as const) {
    await berth.database.query('UPDATE servers SET status = ? WHERE id = ?', [status, id]);
    const { [id]: answer } = await reads(await readOf(id));
    expect([status, answer]).toEqual([
      status,
      isServed ? { state: STATE, secrets: [{ key: 'A', value: '1' }] } : { refused: 'unknown' },
    ]);
  }
  expect(await reads(await readOf(id, { refused: 'forwarded' }))).toEqual({});
  expect((await access(id))[0]).toMatchObject({ via: 'broker', refused: true, reason: 'forwarded', keys: [] });
  const foreign = (await ask('reads', { reads: [await readOf(id)] }, 'x'.repeat(40))).status;
  expect(foreign).toBe(401);
});

test('nodes are given nothing for a suspended account, whatever they hold', async () => {
  const id = await makeServer();
  await put(id, 'A', '1');
  const { state } = (await reads(await readOf(id)))[id] as { state: string };
  await berth.database.query("UPDATE accounts SET status = 'suspended' WHERE id = ?", [owner.id]);
  expect(await readsHolding({ [id]: state }, await readOf(id))).toEqual({ [id]: { refused: 'suspended' } });
  await berth.database.query("UPDATE accounts SET status = 'active' WHERE id = ?", [owner.id]);
});

test('nodes hand in what they served from memory, once', async () => {
  const id = await makeServer();
  await put(id, 'A', '1');
  const at = new Date(Date.now() - 3_600_000).toISOString();
  const served: ServedRead = { ...(await readOf(id, { at })), keys: ['A'] };
  const body: VaultServedRequest = { reads: [served, { ...served, id: randomUUID(), serverId: newId('srv') }] };
  expect((await ask('served', body)).status).toBe(204);
  expect((await ask('served', body)).status).toBe(204);
  expect(await access(id)).toEqual([
    { at, via: 'broker', address: served.address, keys: ['A'], refused: false, reason: null },
  ]);
  await until('read date', async () => {
    const [entry] = (await owner.api.get(`/servers/${id}/vault`)).body as { lastReadAt: string }[];
    return entry!.lastReadAt === at;
  });
});

test.each([
  ['no reads', { holds: {} }],
  ['too many', { reads: Array.from({ length: 501 }, () => A_READ), holds: {} }],
  ['an id that is no uuid', { reads: [{ ...A_READ, id: 'x' }], holds: {} }],
  ['of no service', { reads: [{ ...A_READ, serverId: newId('usr') }], holds: {} }],
  ['no address', { reads: [{ ...A_READ, address: 'here' }], holds: {} }],
  ['no moment', { reads: [{ ...A_READ, at: '2026-99-99T00:00:00Z' }], holds: {} }],
  ['a reason of two lines', { reads: [{ ...A_READ, refused: 'a\nb' }], holds: {} }],
  ['more than a read', { reads: [{ ...A_READ, keys: [] }], holds: {} }],
  ['null for a read', { reads: [null], holds: {} }],
  ['nothing held', { reads: [A_READ] }],
  ['a state that is none', { reads: [A_READ], holds: { [A_READ.serverId]: 'x' } }],
  ['the state of nothing', { reads: [A_READ], holds: { nobody: 'x'.repeat(43) } }],
])('nodes are told when they ask wrongly: %s', async (_name, body) => {
  expect((await ask('reads', body)).status).toBe(400);
});

test.each([
  ['no keys', A_READ],
  ['keys that are none', { ...A_READ, keys: ['lower'] }],
  ['too many keys', { ...A_READ, keys: Array.from({ length: 5000 }, (_, n) => `K${n}`) }],
])('nodes are told when they hand in wrongly: %s', async (_name, read) => {
  expect((await ask('served', { reads: [read] })).status).toBe(400);
});

test('nodes are sent no secrets that they hold, whose reads are recorded all the same, until something changes', async () => {
  const id = await makeServer();
  await put(id, 'A', '1');
  const changes = [
    () => put(id, 'A', '2'),
    () => put(null, 'HELD_BY_ALL', '3'),
    () => put(id, 'HELD_BY_ALL', '4'),
    () => berth.database.query('UPDATE vault_scopes SET kek_id = ? WHERE server_id = ?', ['other', id]),
  ];
  let held = '';
  for (const change of changes) {
    const { state } = (await reads(await readOf(id)))[id] as { state: string };
    held = state;
    const read = await readOf(id);
    expect(await readsHolding({ [id]: state }, read)).toEqual({ [id]: { unchanged: true } });
    expect((await access(id))[0]).toMatchObject({ at: read.at, refused: false, keys: expect.arrayContaining(['A']) });
    await change();
    expect(await readsHolding({ [id]: state }, await readOf(id))).not.toEqual({ [id]: { unchanged: true } });
  }
  const other = await makeServer();
  expect(await readsHolding({ [other]: held }, await readOf(other))).toMatchObject({ [other]: { state: STATE } });
});
