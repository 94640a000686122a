import type { EngineTarget } from './engine-target.js';
import { refuses } from './engine-contract.js';
import { PROGRAMS } from './programs.js';

/** What the port promises about copies, names, and workshops. */
export function workshopContract(target: EngineTarget): void {
  const { engine } = target;
  const volumes: string[] = [];
  const instances: string[] = [];

  /** A name that is cleared away afterwards. */
  function aside(): string {
    const name = target.newName();
    volumes.push(name);
    instances.push(name);
    return name;
  }

  beforeAll(() => target.open(), 600_000);
  afterEach(async () => {
    for (const name of instances.splice(0)) await engine.deleteInstance(name);
    await target.clean();
    for (const name of volumes.splice(0)) await engine.deleteVolume(name);
  });
  afterAll(() => target.close());

  async function run(
    name: string,
    command: string[],
    input: Buffer = Buffer.alloc(0),
  ): Promise<{ code: number; output: Buffer }> {
    const session = await engine.exec(name, {
      command,
      user: 0,
      group: 0,
      cwd: '/',
      environment: { PATH: '/usr/bin:/bin' },
    });
    session.stderr.resume();
    session.stdin.on('error', () => undefined);
    session.stdin.end(input);
    const output = Buffer.concat((await session.stdout.toArray()) as Buffer[]);
    return { code: await session.exit, output };
  }

  describe('volumes', () => {
    test('are copied while a program holds them, into one of another size and owner', async () => {
      const { name } = await target.make(PROGRAMS.serves);
      await engine.startInstance(name);
      const copy = aside();
      await engine.copyVolume(name, { name: copy, sizeMb: 128, owner: 'srv_2' });
      expect(await engine.getVolume(copy)).toMatchObject({ name: copy, sizeMb: 128, owner: 'srv_2', usedBy: [] });
      await refuses(engine.copyVolume(name, { name: copy, sizeMb: 128, owner: 'srv_2' }), 'exists');
      await refuses(engine.copyVolume(aside(), { name: aside(), sizeMb: 64, owner: 'srv_2' }), 'not_found');
      expect((await engine.getInstance(name)).state).toBe('running');
    });

    test('get other names, unless they are attached or the name is taken', async () => {
      const [one, two, three] = [aside(), aside(), aside()];
      await engine.createVolume({ name: one, sizeMb: 64, owner: 'srv_1' });
      await engine.renameVolume(one, two);
      await refuses(engine.getVolume(one), 'not_found');
      expect(await engine.getVolume(two)).toMatchObject({ name: two, sizeMb: 64, owner: 'srv_1' });
      await refuses(engine.renameVolume(one, three), 'not_found');
      await engine.createVolume({ name: three, sizeMb: 64, owner: 'srv_1' });
      await refuses(engine.renameVolume(two, three), 'exists');
      const { name } = await target.make(PROGRAMS.serves);
      await refuses(engine.renameVolume(name, aside()), 'conflict');
      await engine.deleteInstance(name);
      await engine.renameVolume(name, one);
      expect(await engine.getVolume(one)).toMatchObject({ usedBy: [] });
    });
  });

  describe('workshops', () => {
    test('run at once, hold their volume, and are gone when they are removed', async () => {
      const name = aside();
      await engine.createVolume({ name, sizeMb: 64, owner: 'srv_1' });
      const spec = { name, owner: 'srv_1', node: 'node-1', image: 'nodejs', volume: name, memoryMb: 128 };
      await engine.createWorkshop(spec);
      const made = { name, owner: 'srv_1', node: 'node-1', state: 'running', address: null };
      expect(await engine.getInstance(name)).toMatchObject(made);
      expect(await engine.listInstances()).toContainEqual(expect.objectContaining(made));
      expect((await engine.getVolume(name)).usedBy).toEqual([name]);
      await refuses(engine.createWorkshop(spec), 'exists');
      await engine.deleteInstance(name);
      await engine.deleteInstance(name);
      expect((await engine.getVolume(name)).usedBy).toEqual([]);
    });

    test('are not made of what is not there', async () => {
      const name = aside();
      const spec = { name, owner: 'srv_1', image: 'nodejs', volume: name, memoryMb: 128 };
      await refuses(engine.createWorkshop(spec), 'not_found');
      await engine.createVolume({ name, sizeMb: 64, owner: 'srv_1' });
      await refuses(engine.createWorkshop({ ...spec, image: 'no-such-image' }), 'not_found');
    });

    test('pack one volume and unpack it into another', async () => {
      const { name } = await target.make(PROGRAMS.serves);
      const [copy, made] = [aside(), aside()];
      const workshop = { owner: 'srv_1', image: 'nodejs', memoryMb: 128 };
      await engine.copyVolume(name, { name: copy, sizeMb: 128, owner: 'srv_1' });
      await engine.createWorkshop({ ...workshop, name: copy, volume: copy });
      const packed = await run(copy, ['tar', '--create', '--file=-', '--directory=/home/container', '.']);
      expect(packed.code).toBe(0);
      expect(packed.output.length).toBeGreaterThan(0);
      await engine.createVolume({ name: made, sizeMb: 64, owner: 'srv_1' });
      await engine.createWorkshop({ ...workshop, name: made, volume: made });
      const unpack = ['tar', '--extract', '--file=-', '--directory=/home/container'];
      expect((await run(made, unpack, packed.output)).code).toBe(0);
      expect((await run(made, unpack, Buffer.from('no archive at all'))).code).not.toBe(0);
    });
  });
}
