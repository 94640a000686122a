import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import yazl from 'yazl';
import { BenchBerth, median, until } from './support/berth.mjs';
import { Caddy } from './support/caddy.mjs';
import { DurableDatabase } from './support/durable-database.mjs';
import { Nginx } from './support/nginx.mjs';
import { tlsRate } from './support/tls-load.mjs';

const PAGE_BYTES = 26 * 1024;
const FILE_BYTES = 1024 * 1024;
const SITE_FILES = 1000;
const SITE_BYTES = 20 * 1024 * 1024;
const ROUNDS = 5;
const SECONDS = 3;
const DOMAIN = 'bench.localhost';
/** The one that has a certificate; plain HTTP would lead to HTTPS there. */
const SECURE = 'secure.localhost';
const execute = promisify(execFile);

export const name = `Sites: a page and a file against nginx, ${SITE_FILES} files of 20 MB deployed against unzip`;

export async function run(ctx) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-pages-'));
  // What is answered is on the disk, the rows included.
  const database = await DurableDatabase.start();
  const caddy = await Caddy.start(folder, SECURE);
  const berth = await BenchBerth.start(
    { ...ctx.env, DATABASE_URL: database.url },
    { ROLES: 'api,worker', OBJECT_STORE_URL: `file://${join(folder, 'objects')}`, ...caddy.env },
  );
  const nginx = await Nginx.start(folder, caddy.certificate);
  try {
    const { id } = await berth.call('POST', '/pages', { name: 'bench', domain: DOMAIN });
    return [...(await serving({ berth, caddy, nginx, id })), ...(await deploying({ berth, id, folder }))];
  } finally {
    await nginx.stop();
    await berth.stop();
    await caddy.stop();
    await database.stop();
    rmSync(folder, { recursive: true });
  }
}

async function serving({ berth, caddy, nginx, id }) {
  const page = Buffer.from(randomBytes(PAGE_BYTES).toString('base64').slice(0, PAGE_BYTES));
  const file = randomBytes(FILE_BYTES);
  for (const [path, content] of [
    ['page', page],
    ['file.bin', file],
  ])
    writeFileSync(join(nginx.files, path), content);
  await deploy(berth, id, await zip({ 'page.html': page, 'file.bin': file }));
  const secured = await berth.call('POST', '/pages', { name: 'secure', domain: SECURE });
  await deploy(berth, secured.id, await zip({ 'page.html': page }));
  await until(async () => (await berth.call('GET', `/pages/${secured.id}`)).tls.status === 'active');
  const plain = (path, connections) => ({
    ours: () => wrk(`http://127.0.0.1:${berth.env.PAGES_HTTP_PORT}/${path}`, connections),
    theirs: () => wrk(`${nginx.url}/${path}`, connections),
  });
  const secure = (path) => {
    const rate = (port) => tlsRate({ port, domain: SECURE, path: `/${path}`, seconds: SECONDS });
    return { ours: () => rate(caddy.port), theirs: () => rate(nginx.tlsPort) };
  };
  const rows = [];
  for (const [what, ask, target] of [
    ['26 KB page, 1 connection', plain('page', 1), '>= 0.5'],
    ['26 KB page, 16 connections', plain('page', 16), '>= 0.5'],
    ['1 MB file, 1 connection', plain('file.bin', 1), '>= 0.5'],
    ['1 MB file, 16 connections', plain('file.bin', 16), '>= 0.5'],
    ['26 KB page by HTTPS, 1 connection', secure('page')],
  ]) {
    const rates = await inTurns(ask);
    const [ours, yardstick] = [median(rates.ours), median(rates.theirs)];
    rows.push({ what, unit: 'requests/s', ours, yardstick, ratio: ours / yardstick, target });
  }
  return rows;
}

async function deploying({ berth, id, folder }) {
  const each = SITE_BYTES / SITE_FILES;
  // Half of it is text, which is what there is to compress.
  const content = (i) => (i % 2 === 0 ? randomBytes(each / 2).toString('hex') : randomBytes(each));
  const files = Object.fromEntries(
    Array.from({ length: SITE_FILES }, (_, i) => [
      `folder-${i % 20}/file-${i}.${i % 2 === 0 ? 'html' : 'webp'}`,
      content(i),
    ]),
  );
  const archive = await zip(files);
  const path = join(folder, 'site.zip');
  writeFileSync(path, archive);
  let round = 0;
  const compressing = [];
  const work = {
    ours: async () => {
      const { seconds, timing } = await deploy(berth, id, archive);
      const compress = Number(/compress;dur=([\d.]+)/.exec(timing)[1]) / 1000;
      compressing.push(compress);
      return seconds - compress;
    },
    theirs: async () => {
      const target = join(folder, `unzipped-${round++}`);
      const began = performance.now();
      await execute('unzip', ['-q', path, '-d', target]);
      // What is deployed is on the disk when it is answered.
      await execute('sync', ['-f', target]);
      return (performance.now() - began) / 1000;
    },
  };
  const took = await inTurns(work);
  const [ours, yardstick] = [median(took.ours), median(took.theirs)];
  const what = `deploy of ${SITE_FILES} files of 20 MB, without compressing`;
  return [
    { what, unit: 's', ours, yardstick, ratio: ours / yardstick, target: '<= 3' },
    { what: 'compressing them by Brotli and gzip', unit: 's', ours: median(compressing) },
  ];
}

/** In turns, so that a noisy neighbour disturbs both alike; the first round only warms up. */
async function inTurns(work) {
  const results = Object.fromEntries(Object.keys(work).map((who) => [who, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [who, step] of Object.entries(work)) {
      const result = await step();
      if (round > 0) results[who].push(result);
    }
  }
  return results;
}

async function deploy(berth, id, archive) {
  const body = new FormData();
  body.set('file', new Blob([archive]), 'site.zip');
  const headers = { authorization: `Bearer ${berth.key}` };
  const began = performance.now();
  const response = await fetch(`${berth.url}/api/v1/pages/${id}/deploy`, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`the deployment was answered ${response.status}: ${text}`);
  return { seconds: (performance.now() - began) / 1000, timing: response.headers.get('server-timing') };
}

async function wrk(url, connections) {
  const args = ['-t1', `-c${connections}`, `-d${SECONDS}s`, '-H', `Host: ${DOMAIN}`, url];
  const { stdout } = await execute('wrk', args);
  if (/Non-2xx/.test(stdout)) throw new Error(`some requests were refused:\n${stdout}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]);
}

async function zip(files) {
  const archive = new yazl.ZipFile();
  for (const [path, content] of Object.entries(files)) archive.addBuffer(Buffer.from(content), path);
  archive.end();
  const chunks = [];
  for await (const chunk of archive.outputStream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
