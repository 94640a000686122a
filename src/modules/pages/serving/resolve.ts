import { MAX_DEPTH, MAX_PATH_BYTES } from '../archive/archive-paths.js';
import type { SiteFile } from '../archive/manifest.js';
import { encodeCaptures } from '../archive/path-pattern.js';
import type { LoadedManifest, Redirect } from './loaded-manifest.js';

export interface Asked {
  /** Decoded. */
  path: string;
  /** With its question mark, as it was sent; '' for none. */
  query: string;
  /** Whether a page is as good an answer as any. */
  wantsPage: boolean;
  spa: boolean;
}

export type Resolved =
  | { kind: 'file'; name: string; file: SiteFile; status: number; byAccept: boolean }
  | { kind: 'redirect'; to: string; status: number }
  /** What would be redirected to an address that is too long for any request. */
  | { kind: 'too_long' }
  | { kind: 'none' };

const NONE: Resolved = { kind: 'none' };
const CLEAN = 308;
/** As long as all of a request may be. */
const MAX_LOCATION = 16_384;

/** What a site has under an address. Names are looked up and never become a path of anything. */
export function resolve(site: LoadedManifest, asked: Asked): Resolved {
  const { path } = asked;
  const forced = site.redirects.length > 0 ? followRules(site, asked, true) : null;
  if (forced) return forced;
  const plain = fileAt(site, path, asked.query);
  if (plain) return plain;
  const ruled = site.redirects.length > 0 ? followRules(site, asked, false) : null;
  if (ruled) return ruled;
  const byAccept = asked.spa && !hasExtension(path);
  const home = byAccept && asked.wantsPage ? found(site, 'index.html', 200, byAccept) : null;
  return home ?? notFoundPage(site, path, byAccept) ?? NONE;
}

/** A file by its own name or by its clean one; another spelling of the latter leads to it. */
function fileAt(site: LoadedManifest, path: string, query: string): Resolved | null {
  const name = path.slice(1);
  if (name === '' || name.endsWith('/')) {
    const page = found(site, `${name}index.html`, 200);
    if (page || name === '') return page;
    const above = name.slice(0, -1);
    return site.files.has(`${above}.html`) || site.files.has(above) ? clean(`/${above}`, query) : null;
  }
  if (name.endsWith('.html') && site.files.has(name)) {
    const bare = cleanName(site, name);
    return bare === name ? found(site, name, 200) : clean(`/${bare}`, query);
  }
  const exact = found(site, name, 200) ?? found(site, `${name}.html`, 200);
  if (exact) return exact;
  return site.files.has(`${name}/index.html`) ? clean(`/${name}/`, query) : null;
}

/** The address that a page goes by: without its extension, unless something else has that. */
function cleanName(site: LoadedManifest, name: string): string {
  if (name === 'index.html' || name.endsWith('/index.html')) return name.slice(0, -'index.html'.length);
  const clean = name.slice(0, -'.html'.length);
  return clean === '' || clean.endsWith('/') || site.files.has(clean) ? name : clean;
}

function followRules(site: LoadedManifest, asked: Asked, force: boolean): Resolved | null {
  for (const rule of site.redirects) {
    if (rule.force !== force) continue;
    const followed = follow(site, rule, asked);
    if (followed) return followed;
  }
  return null;
}

function follow(
  site: LoadedManifest,
  { from, to, status, rewrites }: Redirect,
  { path, query }: Asked,
): Resolved | null {
  const captures = from(path);
  if (!captures) return null;
  if (rewrites) {
    // With the slash before it, no name of a site is longer.
    const target = to(captures, MAX_PATH_BYTES + 1);
    const file = target === null ? null : rewritten(site, target);
    return file && { kind: 'file', ...file, status, byAccept: false };
  }
  let target = to(encodeCaptures(captures, encodePath), MAX_LOCATION);
  if (target === null) return { kind: 'too_long' };
  // A path stays one on this host, whatever was captured.
  if (target.startsWith('/')) target = target.replace(/^[/\\]+/, '/');
  const [beforeHash = '', hash] = target.split('#', 2);
  const withQuery = beforeHash.includes('?') ? beforeHash : `${beforeHash}${query}`;
  return redirect(hash === undefined ? withQuery : `${withQuery}#${hash}`, status);
}

/** The file that a rewriting rule leads to, by its name or its clean one. */
function rewritten(site: LoadedManifest, target: string): { name: string; file: SiteFile } | null {
  const name = target.slice(1);
  const names =
    name === '' || name.endsWith('/') ? [`${name}index.html`] : [name, `${name}.html`, `${name}/index.html`];
  for (const candidate of names) {
    const file = site.files.get(candidate);
    if (file) return { name: candidate, file };
  }
  return null;
}

/** The nearest `404.html` up the tree. */
function notFoundPage(site: LoadedManifest, path: string, byAccept: boolean): Resolved | null {
  // No file of a site stands deeper, whatever the path is.
  const folders = path.slice(1, MAX_PATH_BYTES).split('/', MAX_DEPTH).slice(0, -1);
  for (let depth = folders.length; depth >= 0; depth--) {
    const page = found(site, [...folders.slice(0, depth), '404.html'].join('/'), 404, byAccept);
    if (page) return page;
  }
  return null;
}

function found(site: LoadedManifest, name: string, status: number, byAccept = false): Resolved | null {
  const file = site.files.get(name);
  return file ? { kind: 'file', name, file, status, byAccept } : null;
}

function clean(path: string, query: string): Resolved {
  return redirect(`${encodePath(path)}${query}`, CLEAN);
}

function redirect(target: string, status: number): Resolved {
  const to = keepAscii(target);
  return to.length > MAX_LOCATION ? { kind: 'too_long' } : { kind: 'redirect', to, status };
}

function hasExtension(path: string): boolean {
  return /\.[^/.]+$/.test(path);
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** What is not plain ASCII in percent-encoding; the rest as it is. */
function keepAscii(text: string): string {
  return text.replace(/[^\x21-\x7e]+/gu, (part) => encodeURIComponent(part.toWellFormed()));
}
