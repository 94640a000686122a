import type { IncomingMessage } from 'node:http';
import { loadConfig } from '../../../src/config/config.js';
import { HostingNode } from '../../../src/modules/nodes/node.entity.js';
import { NodesService } from '../../../src/modules/nodes/nodes.service.js';
import { AddressLock } from '../../../src/modules/vault/tokens/address-lock.service.js';
import { ClientAddresses } from '../../../src/platform/http/client-address.js';
import { TestDatabase } from '../../support/database.js';

let database: TestDatabase;
let nodes: NodesService;

beforeAll(async () => {
  database = await TestDatabase.create([HostingNode]);
  nodes = new NodesService(database.database);
  for (const [name, address] of [
    ['v4', '192.0.2.10'],
    ['mapped', '::ffff:192.0.2.11'],
    ['v6', '2001:db8::1'],
    ['silent', null],
  ] as const) {
    const { id } = await nodes.register(name, name.padEnd(40, 'x'));
    await nodes.seen(id, '2.33.0', address, null);
  }
});
afterAll(() => database?.drop());

const PROXIES = ['198.51.100.1', '10.0.0.0/8'];

/** Whether a request of this peer, that says this of where it came from, passes the lock. */
async function passes(peer: string, forwarded?: string): Promise<boolean> {
  const config = loadConfig({ VAULT_ALLOWED_ADDRESSES: '203.0.113.0/28,2001:db8:1::/64' }, '/dev/null');
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const request = { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage;
  return new AddressLock(nodes, config).allows(new ClientAddresses(PROXIES).of(request));
}

test.each<[why: string, peer: string, forwarded: string | undefined, passes: boolean]>([
  ['a node', '192.0.2.10', undefined, true],
  ['a node, mapped into IPv6', '::ffff:192.0.2.10', undefined, true],
  ['a node that registered mapped', '192.0.2.11', undefined, true],
  ['a node by IPv6', '2001:db8::1', undefined, true],
  ['a node by IPv6, spelled out', '2001:0DB8:0:0::0001', undefined, true],
  ['a neighbour of a node', '192.0.2.12', undefined, false],
  ['a neighbour in the same /64', '2001:db8::2', undefined, false],
  ['what the operator allows', '203.0.113.15', undefined, true],
  ['what is beside it', '203.0.113.16', undefined, false],
  ['an allowed IPv6 network', '2001:db8:1::ff', undefined, true],
  ['nobody', '', undefined, false],
  ['a stranger who says he is a node', '203.0.113.99', '192.0.2.10', false],
  ['a stranger who says he is a proxy', '203.0.113.99', '192.0.2.10, 198.51.100.1', false],
  ['a node behind the proxy', '198.51.100.1', '192.0.2.10', true],
  ['a node behind two proxies', '198.51.100.1', '192.0.2.10, 10.1.2.3', true],
  ['a node behind the proxy, mapped', '::ffff:198.51.100.1', '::ffff:192.0.2.10', true],
  ['a stranger behind the proxy', '198.51.100.1', '203.0.113.99', false],
  ['one who wrote a node to the left', '198.51.100.1', '192.0.2.10, 203.0.113.99', false],
  ['one who wrote a node and a proxy to the left', '198.51.100.1', '192.0.2.10, 10.1.2.3, 203.0.113.99', false],
  ['one who wrote garbage', '198.51.100.1', 'localhost', false],
  ['the proxy itself', '198.51.100.1', undefined, false],
])('V-17: %s', async (_why, peer, forwarded, expected) => expect(await passes(peer, forwarded)).toBe(expected));
