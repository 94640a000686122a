import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WORKSHOP_FOLDER } from '../../src/drivers/engine/engine.js';
import { hasLxd, LxdTarget } from './support/lxd-target.js';
import { PROGRAMS } from './support/programs.js';
import { workshopContract } from './support/workshop-contract.js';

(hasLxd ? describe : describe.skip)('LXD', () => {
  const target = new LxdTarget(7);
  workshopContract(target);

  describe('a workshop', () => {
    const { engine } = target;

    test('is an unprivileged container without network, limited, and sees the files of a copy as their owner did', async () => {
      const { name } = await target.started(PROGRAMS.serves);
      await target.untilPrinted(name, 'ready');
      const copy = target.newName();
      try {
        await engine.copyVolume(name, { name: copy, sizeMb: 128, owner: 'srv_1' });
        await engine.createWorkshop({ name: copy, owner: 'srv_1', image: 'nodejs', volume: copy, memoryMb: 128 });
        const inside = async (command: string) => target.asRoot(copy, ['sh', '-c', command]);
        expect(await inside('test "$(ls /sys/class/net)" = lo')).toBe(0);
        expect(await inside('test "$(stat -c %u /home/container/index.js)" = 1000')).toBe(0);
        expect(
          await inside(
            'read -r inside outside count < /proc/self/uid_map && test "$inside" = 0 && test "$outside" != 0 && test "$count" = 65536',
          ),
        ).toBe(0);
        const query = `project=${target.options.project}`;
        const { metadata } = await target.raw<{ config: Record<string, string>; devices: object }>(
          'GET',
          `/1.0/instances/${copy}?${query}`,
        );
        expect(metadata.config).toMatchObject({
          'security.privileged': 'false',
          'security.nesting': 'false',
          'security.idmap.isolated': 'true',
          'limits.memory': '128MiB',
        });
        expect(Object.keys(metadata.devices).sort()).toEqual(['data', 'root']);
      } finally {
        await engine.deleteInstance(copy);
        await engine.deleteVolume(copy);
      }
    });

    test('sees the folder it is given, connects to sockets there, and cannot write to it', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'berth-workshop-'));
      chmodSync(folder, 0o711);
      const server = createServer((socket) => socket.end()).listen(join(folder, 'socket'));
      await once(server, 'listening');
      chmodSync(join(folder, 'socket'), 0o666);
      const name = target.newName();
      try {
        await engine.createVolume({ name, sizeMb: 64, owner: 'srv_1' });
        await engine.createWorkshop({ name, owner: 'srv_1', image: 'nodejs', volume: name, memoryMb: 128, folder });
        const connects = `use IO::Socket::UNIX; IO::Socket::UNIX->new('${WORKSHOP_FOLDER}/socket') or exit 1`;
        expect(await target.asRoot(name, ['perl', '-e', connects])).toBe(0);
        expect(await target.asRoot(name, ['touch', `${WORKSHOP_FOLDER}/file`])).not.toBe(0);
      } finally {
        await engine.deleteInstance(name);
        await engine.deleteVolume(name);
        server.close();
        rmSync(folder, { recursive: true });
      }
    });
  });
});
