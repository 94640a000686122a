import { execFileSync } from 'node:child_process';
import type { TestAccount } from '../support/app.js';
import { Hosting, onEngine, runningServer } from './support/hosting.js';
import { Neighbour } from './support/neighbour.js';
import { createMachine, reachMachine, redirect, SshKey, type Machine, type Redirection } from './support/machines.js';

const TABLE = 'berth_e2e_visitors';
const OURS = '203.0.113.65';
const VISITOR = '203.0.113.66';

/** A platform whose public address is one that visitors have a route to, and a visitor. */
onEngine('visitors of machines', () => {
  let visitor: Neighbour;
  let hosting: Hosting;
  let account: TestAccount;
  let key: SshKey;
  let machine: Machine;
  let door: Redirection;

  beforeAll(async () => {
    visitor = new Neighbour({ name: 'berth-visitor', link: 'berthvis0', ours: OURS, theirs: VISITOR, prefix: 26 });
    key = new SshKey();
    hosting = await Hosting.start({
      machines: true,
      env: { PUBLIC_ADDRESS: OURS, FIREWALL: 'on', FIREWALL_TABLE: TABLE },
    });
    account = await hosting.berth.makeAccount();
    const { id } = await createMachine(account.api, key.public);
    machine = await reachMachine(account.api, id, 'RUNNING');
    door = await redirect(account.api, id, { targetPort: 22, protocol: 'tcp' });
  }, 180_000);
  afterAll(async () => {
    await hosting?.close();
    key?.remove();
    visitor?.remove();
    for (const table of [TABLE, `${TABLE}_broker`, `${TABLE}_machines`]) {
      execFileSync('nft', ['-f', '-'], { input: `table inet ${table}\ndelete table inet ${table}\n` });
    }
  });

  test('the machine sees who they are, and this host gets in the same way', async () => {
    expect(door.address).toBe(OURS);
    const [from] = (await key.untilIn(door, 'echo $SSH_CONNECTION', visitor.inside)).split(' ');
    expect(from).toBe(VISITOR);
    expect(await key.untilIn(door, 'echo here')).toBe('here');
  }, 120_000);

  test('but for the port there is no way in for them, nor out to them for the machine', async () => {
    const tried = (target: string, port: number): string =>
      visitor.run('bash', '-c', `timeout 2 bash -c '</dev/tcp/${target}/${port}' 2>/dev/null && echo in || echo out`);
    expect(tried(OURS, door.publicPort)).toBe('in');
    expect(tried(hosting.berth.env.MACHINE_SUBNET!.split('/')[0]!, 53)).toBe('out');
    const reach = (target: string): Promise<string> =>
      key.untilIn(door, `timeout 2 bash -c '</dev/tcp/${target}' 2>/dev/null && echo in || echo out`, visitor.inside);
    expect(await reach(`${OURS}/${hosting.berth.env.INTERNAL_PORT}`)).toBe('out');
  }, 60_000);

  test('a port that is given up leads nowhere', async () => {
    (await account.api.delete(`/lxc/${machine.id}/ports/${door.id}`)).expect(204);
    expect((await key.ssh(door, 'true', ['-o', 'ConnectTimeout=2'], visitor.inside)).code).not.toBe(0);
    const again = await redirect(account.api, machine.id, {
      targetPort: 22,
      protocol: 'tcp',
      publicPort: door.publicPort,
    });
    expect(await key.untilIn(again, 'echo again', visitor.inside)).toBe('again');
  }, 60_000);

  test("neither a service's port nor another machine's is given twice", async () => {
    const server = await runningServer(account.api);
    const { port } = server.primaryAllocation;
    const taken = await account.api.post(`/lxc/${machine.id}/ports`, {
      targetPort: 80,
      protocol: 'tcp',
      publicPort: port,
    });
    expect([taken.status, taken.body.code]).toEqual([409, 'port_taken']);
    const answer = await account.api.post(`/servers/${server.id}/allocations`, {
      protocol: 'tcp',
      port: door.publicPort,
    });
    expect([answer.status, answer.body.code]).toEqual([409, 'port_taken']);
  }, 120_000);
});
