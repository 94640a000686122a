import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fc } from '../../support/fast-check.js';
import { startBerth, type Berth } from '../../support/app.js';
import { heaviest, REFUSED, TAKEN } from '../../support/hostile-archives.js';
import { build } from '../../support/zip-builder.js';
import { form, PagesClient, zip, type Site } from './pages-client.js';

const LIMIT = 30 * 1024 * 1024;

let berth: Berth;
let client: PagesClient;
let site: Site;

beforeAll(async () => {
  berth = await startBerth({ processes: [['api']] });
  client = new PagesClient(berth, await berth.makeAccount());
  site = await client.shown({ 'index.html': 'before' });
});
afterAll(async () => {
  client?.close();
  await berth?.close();
});

const blobs = (): string[] =>
  readdirSync(fileURLToPath(berth.env['OBJECT_STORE_URL']!), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
const rows = async (): Promise<number> =>
  Number((await berth.database.query<{ n: string }[]>('SELECT COUNT(*) AS n FROM deployments'))[0]!.n);

describe('P-01: refused, and nothing has changed', () => {
  test.each(REFUSED)('%s', async (_name, archive, code) => {
    const before = { blobs: blobs(), rows: await rows() };
    const answer = (await client.send(site.id, archive())).expect(400);
    expect([answer.body.code, answer.body.detail]).toEqual([
      code,
      expect.stringMatching(/^[\x20-\u{10ffff}]{10,400}$/u),
    ]);
    expect({ blobs: blobs(), rows: await rows() }).toEqual(before);
    expect((await client.get(site.domain, '/')).text).toBe('before');
  });
});

test('P-01: the heaviest archive that is refused takes bounded memory, and no time of the thread that answers', async () => {
  const archive = heaviest();
  // Once, so that what is there to stay is there.
  (await client.send(site.id, archive)).expect(400);
  const pid = berth.process('api').pid!;
  const before = { peak: resetPeak(pid), ...cpuTicks(pid) };
  const { body } = (await client.send(site.id, archive)).expect(400);
  expect(body.code).toBe('archive_damaged');
  const after = cpuTicks(pid);
  const grown = peakMb(pid) - before.peak;
  expect(grown).toBeLessThan(128);
  const [all, main] = [after.all - before.all, after.main - before.main];
  expect(main).toBeLessThan(all / 2);
});

/** Memory that the process has, in MB; its peak starts anew from there. */
function resetPeak(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return peakMb(pid);
}

function peakMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

/** Processor time of the process, and of the one thread of it that answers. */
function cpuTicks(pid: number): Record<'all' | 'main', number> {
  const ticks = (path: string): number => {
    const [user, system] = readFileSync(path, 'utf8').split(') ').at(-1)!.split(' ').slice(11, 13);
    return Number(user) + Number(system);
  };
  return { all: ticks(`/proc/${pid}/stat`), main: ticks(`/proc/${pid}/task/${pid}/stat`) };
}

test.each(TAKEN)('taken: %s', async (_name, archive, path, content) => {
  const own = await client.site();
  (await client.send(own.id, archive())).expect(201);
  const got = await client.get(own.domain, path);
  expect([got.status, got.bytes]).toEqual([200, Buffer.from(content)]);
  (await client.account.api.delete(`/pages/${own.id}`)).expect(204);
});

test('P-02: archives that were tampered with are taken or refused, and nothing else', async () => {
  const good = await zip({
    'index.html': 'home '.repeat(50),
    'a/b.txt': 'b',
    _headers: '/*\n  X-A: b',
    _redirects: '/a /b',
  });
  const victim = await client.shown({ 'index.html': 'victim' });
  const change = fc.record({ at: fc.nat(good.length - 1), to: fc.nat(255) });
  const before = await client.account.api.get('/me');
  before.expect(200);
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), fc.nat(good.length), async (changes, cut) => {
      const bad = Buffer.from(good);
      for (const { at, to } of changes) bad[at] = to;
      const answer = await client.send(victim.id, cut % 7 === 0 ? bad.subarray(0, cut) : bad);
      answer.expect(201, 400);
      if (answer.status === 400) expect(answer.body.code).toMatch(/^archive_/);
    }),
    { numRuns: 60 },
  );
  expect(berth.process('api').running).toBe(true);
  expect((await client.get(site.domain, '/')).text).toBe('before');
});

describe('P-03: the size', () => {
  /** An archive of exactly that many bytes. */
  function sized(bytes: number): Buffer {
    const entries = (size: number) => [
      { name: 'index.html', content: 'large' },
      { name: 'data.bin', content: Buffer.alloc(size, 'x'), method: 0 },
    ];
    const around = build({ entries: entries(0) }).length;
    return build({ entries: entries(bytes - around) });
  }

  test('30 MiB are taken', async () => {
    const archive = sized(LIMIT);
    expect(archive.length).toBe(LIMIT);
    const own = await client.site();
    expect((await client.send(own.id, archive)).expect(201).body.files).toBe(2);
    const part = await client.get(own.domain, '/data.bin', { range: 'bytes=31000000-31000009' });
    expect([part.status, part.text]).toEqual([206, 'x'.repeat(10)]);
    expect((await client.get(own.domain, '/data.bin')).bytes.length).toBeGreaterThan(LIMIT - 1000);
  });

  test('one byte more is not, announced or not', async () => {
    const { raw, headers } = form(sized(LIMIT + 1));
    const path = `/pages/${site.id}/deploy`;
    const answer = await client.account.api.send('POST', path, { raw, headers });
    expect([answer.expect(413).body.code, answer.body.maxBytes]).toEqual(['body_too_large', LIMIT]);
    const chunked = await fetch(`${berth.baseUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${client.account.key}` },
      body: new ReadableStream({
        start(controller) {
          for (let at = 0; at < raw.length; at += 1 << 20) controller.enqueue(raw.subarray(at, at + (1 << 20)));
          controller.close();
        },
      }),
      duplex: 'half',
    });
    expect(chunked.status).toBe(413);
  });
});

describe('the body', () => {
  const send = (raw: string | Buffer, type: string) =>
    client.account.api.send('POST', `/pages/${site.id}/deploy`, { raw, headers: { 'content-type': type } });
  const part = (name: string, more: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\nx\r\n`;
  const FILE = '; filename="a.zip"';

  test.each<[why: string, raw: string, type: string, status: number, code: string]>([
    ['is no form', 'x', 'application/zip', 415, 'unsupported_media_type'],
    ['is JSON', '{}', 'application/json', 415, 'unsupported_media_type'],
    ['has no boundary', 'x', 'multipart/form-data', 400, 'malformed_multipart'],
    ['is empty', '', 'multipart/form-data; boundary=b', 400, 'malformed_multipart'],
    ['has no file', `${part('a', '')}--b--\r\n`, 'multipart/form-data; boundary=b', 400, 'file_missing'],
    [
      'has two files',
      `${part('a', FILE)}${part('b', FILE)}--b--\r\n`,
      'multipart/form-data; boundary=b',
      400,
      'too_many_parts',
    ],
    ['has six fields', `${part('f', '').repeat(6)}--b--\r\n`, 'multipart/form-data; boundary=b', 400, 'too_many_parts'],
    [
      'has a long name',
      `${part('n'.repeat(65), FILE)}--b--\r\n`,
      'multipart/form-data; boundary=b',
      400,
      'malformed_multipart',
    ],
    ['has no end', part('a', FILE), 'multipart/form-data; boundary=b', 400, 'malformed_multipart'],
  ])('%s', async (_why, raw, type, status, code) => {
    expect((await send(raw, type)).expect(status).body.code).toBe(code);
  });

  test('must not be compressed', async () => {
    const { raw, headers } = form(await zip({ 'index.html': 'before' }));
    const send = (coding: string) =>
      client.account.api.send('POST', `/pages/${site.id}/deploy`, {
        raw,
        headers: { ...headers, 'content-encoding': coding },
      });
    expect((await send('gzip')).expect(415).body.code).toBe('unsupported_encoding');
    (await send('identity')).expect(201);
  });

  test('may have other fields, and the file any name', async () => {
    const archive = await zip({ 'index.html': 'before' });
    const { raw } = form(archive, 'whatever');
    const boundary = raw.subarray(2, raw.indexOf('\r\n')).toString();
    const field = `--${boundary}\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n`;
    (await send(Buffer.concat([Buffer.from(field), raw]), `multipart/form-data; boundary=${boundary}`)).expect(201);
  });
});
