import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { readdirSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasLxd, LxdTarget } from './support/lxd-target.js';
import { machineContract } from './support/machine-contract.js';

const onLxd = hasLxd ? describe : describe.skip;

onLxd('machines of LXD', () => machineContract(new LxdTarget(3)));

/** An image server as operators name one: the index of its products, and the file that they lead to. */
onLxd('an image of a simplestreams server', () => {
  const target = new LxdTarget(4);
  let server: Server;
  let url: string;

  beforeAll(async () => {
    await target.open();
    const folder = process.env.BERTH_IMAGE_DIR!;
    const files = readdirSync(folder).filter((name) => /^debian-12-.*\.tar\.zst$/.test(name));
    const newest = files.sort((a, b) => statSync(join(folder, b)).mtimeMs - statSync(join(folder, a)).mtimeMs)[0]!;
    const image = join(folder, newest);
    const sha256 = createHash('sha256').update(readFileSync(image)).digest('hex');
    const item = { ftype: 'lxd_combined.tar.gz', path: `files/${newest}`, size: statSync(image).size, sha256 };
    const product = {
      aliases: 'tested/12',
      arch: { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64'],
      os: 'Debian',
      release: 'bookworm',
      release_title: 'bookworm',
      variant: 'default',
      versions: { '20260101_00:00': { items: { 'lxd_combined.tar.gz': item } } },
    };
    const products = {
      content_id: 'images',
      datatype: 'image-downloads',
      format: 'products:1.0',
      products: { tested: product },
    };
    const index = {
      format: 'index:1.0',
      index: {
        images: {
          datatype: 'image-downloads',
          path: 'streams/v1/images.json',
          format: 'products:1.0',
          products: ['tested'],
        },
      },
    };
    server = createServer((request, response) => {
      const path = request.url!.split('?')[0]!;
      if (path.endsWith('/index.json')) response.end(JSON.stringify(index));
      else if (path.endsWith('/images.json')) response.end(JSON.stringify(products));
      else if (path.includes('/files/')) createReadStream(image).pipe(response);
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }, 600_000);
  afterAll(async () => {
    server?.close();
    await target.close();
  });

  it('is fetched and offered under the alias the operator gave it', async () => {
    const properties = { 'berth.machine': 'true', description: 'Fetched' };
    await target.engine.fetchImage({ alias: 'fetched/12', server: url, source: 'tested/12', properties });
    const found = (await target.engine.listImages()).find(({ alias }) => alias === 'fetched/12');
    expect(found).toMatchObject({ properties: { ...properties, os: 'Debian' } });
    expect(found!.sizeBytes).toBeGreaterThan(10 * 2 ** 20);
  }, 300_000);

  describe("by the operator's command", () => {
    /** The command as operators run it: a process of its own, with nothing but settings. */
    async function berth(...args: string[]): Promise<{ code: number; out: string; err: string }> {
      const { url: ENGINE_URL, project: ENGINE_PROJECT, pool: ENGINE_POOL } = target.options;
      const program = join(import.meta.dirname, '..', '..', 'dist', 'src', 'cli', 'berth.js');
      const env = { PATH: process.env.PATH, ENGINE_URL, ENGINE_PROJECT, ENGINE_POOL };
      try {
        const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, 'image', ...args], { env });
        return { code: 0, out: stdout, err: stderr };
      } catch (error) {
        const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
        return { code, out: stdout, err: stderr };
      }
    }

    const from = (source: string) => ['--server', url, '--source', source];

    it('it is offered to tenants, under its alias and with the words for it', async () => {
      const said = ['--description', 'A “tested” Debian', '--json'];
      const { code, out, err } = await berth('add', 'fetched/by-command', ...from('tested/12'), ...said);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const found = (await target.engine.listImages()).find(({ alias }) => alias === 'fetched/by-command')!;
      const { sizeBytes, fingerprint } = found;
      expect(JSON.parse(out)).toEqual({ alias: 'fetched/by-command', sizeBytes, fingerprint });
      expect(found.properties).toMatchObject({ 'berth.machine': 'true', description: 'A “tested” Debian' });
      const listed = JSON.parse((await berth('list', '--json')).out) as { alias: string }[];
      expect(listed.map(({ alias }) => alias)).toContain('fetched/by-command');
    }, 300_000);

    it.each([
      ['an alias that services use', 'nodejs', 'tested/12', 1, 'nodejs is an image of services'],
      ['an alias of no use', 'No Alias', 'tested/12', 1, 'An alias is words of'],
      ['an image that the server does not have', 'fetched/13', 'no/such', 1, "couldn't be found"],
      ['no image', 'fetched/13', null, 2, '--source'],
    ])(
      'refuses %s',
      async (_what, alias, source, code, reason) => {
        const before = await target.engine.listImages();
        const run = await berth('add', alias, ...(source === null ? ['--server', url] : from(source)));
        expect(run).toMatchObject({ code, out: '', err: expect.stringContaining(reason) as string });
        expect(await target.engine.listImages()).toEqual(before);
      },
      60_000,
    );
  });

  it('is nothing when the server does not have it', async () => {
    const wanted = { alias: 'fetched/13', server: url, source: 'no/such', properties: {} };
    await expect(target.engine.fetchImage(wanted)).rejects.toThrow();
    expect((await target.engine.listImages()).map(({ alias }) => alias)).not.toContain('fetched/13');
  }, 60_000);
});
