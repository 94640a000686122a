import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { loadavg } from 'node:os';
import * as chromeLauncher from 'chrome-launcher';
import lighthouse from 'lighthouse';
import { findProgram } from '../scripts/lib/layout.mjs';
import { LIGHTHOUSE, html } from '../test/support/seo-pages.ts';
import { BenchBerth } from './support/berth.mjs';

export const name = 'eight pages against the SEO category of Lighthouse';

const IDS = Object.keys(LIGHTHOUSE);
const TEXT = `<p>${'Words that a page of some length is made of, over and over. '.repeat(40)}</p>`;
/** What is wrong with each page but the first, besides what all of them have. */
const FAULTY = [
  'document-title',
  'meta-description',
  'link-text',
  'crawlable-anchors',
  'image-alt',
  'hreflang',
  'canonical',
];

export async function run(ctx) {
  const site = await serve();
  const settings = { ENGINE_URL: 'simulator:', ROLES: 'api', SCAN_ALLOW_ADDRESSES: '127.0.0.1' };
  const berth = await BenchBerth.start({ ...ctx.env, ...settings });
  const chrome = await chromeLauncher.launch({
    chromePath: findProgram('chromium'),
    chromeFlags: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    logLevel: 'silent',
  });
  try {
    const idle = { ours: memoryOf(berth.child.pid), yardstick: memoryOf(process.pid) };
    const ours = await measured(berth.child.pid, () =>
      berth.call('POST', '/seo/scan', { url: `${site.url}/`, pages: 8 }),
    );
    const urls = ours.result.pages.map(({ url }) => url);
    if (urls.length !== 8) throw new Error(`${urls.length} pages were judged instead of 8`);
    const yardstick = await measured(process.pid, () => inLighthouse(urls, chrome.port));
    const differing = urls.flatMap((url, index) => differences(url, ours.result.pages[index], yardstick.result[index]));
    for (const line of differing) console.log(line);
    const load = loadavg()[0].toFixed(1);
    return [
      {
        what: `eight pages (load ${load})`,
        ...{ unit: 's', ours: ours.seconds, yardstick: yardstick.seconds },
        ...{ ratio: yardstick.seconds / ours.seconds, target: '>= 20' },
      },
      {
        what: 'memory at its peak, browser included',
        ...{ unit: 'MB', ours: ours.megabytes, yardstick: yardstick.megabytes },
        ...{ ratio: ours.megabytes / yardstick.megabytes, target: '' },
      },
      {
        what: 'memory before it',
        ...{ unit: 'MB', ours: idle.ours, yardstick: idle.yardstick, ratio: null, target: '' },
      },
      {
        what: `verdicts that differ, of ${urls.length * (IDS.length + 1)}`,
        ...{ unit: '', ours: differing.length, yardstick: null, ratio: null, target: '<= 0' },
      },
    ];
  } finally {
    chrome.kill();
    await berth.stop();
    site.close();
  }
}

/** Pages that fail one audit each, linked from the first. */
async function serve() {
  // Another address of a page that is there already would be one page less.
  const bodyOf = (id) => LIGHTHOUSE[id].fail[id === 'canonical' ? 1 : 0].page.body.replaceAll('"/a"', '"/image-alt"');
  const pages = Object.fromEntries(FAULTY.map((id) => [`/${id}`, { body: bodyOf(id) }]));
  const links = FAULTY.map((id) => `<a href="/${id}">The page about ${id}</a>`).join(' ');
  pages['/'] = { body: html({ body: TEXT + links, head: '<link rel="canonical" href="http://example.com/">' }) };
  const server = createServer((request, response) => {
    const page = pages[request.url];
    const headers = { 'content-type': request.url === '/robots.txt' ? 'text/plain' : 'text/html' };
    if (request.url === '/robots.txt') response.writeHead(200, headers).end('User-agent: *\nDisallow: /none\n');
    else if (page)
      response
        .writeHead(page.status ?? 200, { ...headers, ...page.headers })
        .end(page.body.replace('</body>', `${TEXT}</body>`));
    else response.writeHead(404, headers).end('<title>Not here</title>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

async function inLighthouse(urls, port) {
  const results = [];
  for (const url of urls) {
    const options = { port, onlyCategories: ['seo'], output: 'json', logLevel: 'silent', ignoreStatusCode: true };
    results.push((await lighthouse(url, options)).lhr);
  }
  return results;
}

/** Audits, and the score, of which the two say something else. */
function differences(url, page, { audits, categories }) {
  const theirs = (id) => (audits[id].scoreDisplayMode === 'binary' ? audits[id].score : null);
  const lines = page.audits
    .filter(({ id }) => IDS.includes(id))
    .filter(({ id, score }) => score !== theirs(id))
    .map(({ id, score }) => `${url}: ${id} is ${score}, Lighthouse says ${theirs(id)}`);
  const score = Math.round(categories.seo.score * 100);
  return score === page.score ? lines : [...lines, `${url}: the score is ${page.score}, Lighthouse says ${score}`];
}

async function measured(pid, work) {
  let megabytes = memoryOf(pid);
  const timer = setInterval(() => (megabytes = Math.max(megabytes, memoryOf(pid))), 50);
  const begin = performance.now();
  try {
    const result = await work();
    return { result, seconds: (performance.now() - begin) / 1000, megabytes: Math.max(megabytes, memoryOf(pid)) };
  } finally {
    clearInterval(timer);
  }
}

/** Of a process and all that it started, what is shared counted once (PSS). Ours is no child of the benchmark's for this. */
function memoryOf(pid) {
  const parents = new Map();
  for (const entry of readdirSync('/proc').filter((text) => /^\d+$/.test(text))) {
    try {
      parents.set(Number(entry), Number(/\) \S+ (\d+)/.exec(readFileSync(`/proc/${entry}/stat`, 'utf8'))?.[1]));
    } catch {
      // It ended meanwhile.
    }
  }
  const isBerth = (other) => /\bdist\/src\/main\.js\b/.test(commandOf(other));
  const belongs = (other) => other === pid || (!isBerth(other) && parents.has(other) && belongs(parents.get(other)));
  let kilobytes = 0;
  for (const other of parents.keys()) {
    if (!belongs(other)) continue;
    try {
      kilobytes += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${other}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // It ended meanwhile.
    }
  }
  return kilobytes / 1024;
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
