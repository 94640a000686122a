import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { parseRange } from '../../../platform/http/byte-range.js';
import { judgeConditions } from '../../../platform/http/conditions.js';
import { decodeExactly } from '../../../platform/http/percent-encoding.js';
import type { SiteFile } from '../archive/manifest.js';
import { fillIn } from '../archive/path-pattern.js';
import { mediaTypeOf } from '../archive/media-types.js';
import type { LoadedManifest, ReadyAnswer } from './loaded-manifest.js';
import { cacheControl, chooseForm, hasHashInName, wantsPage } from './negotiation.js';
import { resolve, type Resolved } from './resolve.js';
import { SiteContents } from './site-contents.reader.js';
import { SiteLookUps, type Shown } from './site-look-ups.service.js';

export interface SiteRequest {
  method: 'GET' | 'HEAD';
  /** As it was sent, with its query. */
  url: string;
  headers: IncomingHttpHeaders;
}

export interface SiteAnswer {
  status: number;
  /** Names and values in turn. */
  headers: string[];
  body: Buffer | Readable | null;
}

/** How long pages that were loaded before a switch still find what belongs to them. */
const GRACE_MS = 60_000;
const BY_TENANT_ON_PREVIEW = /^(?:set-cookie|strict-transport-security)$/i;
/** Of a switch, an answer knows nothing but its tag: a date would go backwards with a rollback. */
const NO_DATE = new Date(0);

/** Puts together what a site answers. */
@Injectable()
export class SiteAnswers {
  constructor(
    private readonly contents: SiteContents,
    private readonly lookUps: SiteLookUps,
  ) {}

  /** At once where all of it is in memory. Null for nothing to show. */
  answer(shown: Shown, request: SiteRequest): SiteAnswer | null | Promise<SiteAnswer | null> {
    const manifest = this.contents.manifest(shown);
    if (manifest instanceof Promise) return manifest.then((loaded) => this.fromManifest(shown, loaded, request));
    return this.fromManifest(shown, manifest, request);
  }

  private fromManifest(
    shown: Shown,
    manifest: LoadedManifest,
    request: SiteRequest,
  ): SiteAnswer | null | Promise<SiteAnswer | null> {
    const { url, headers } = request;
    const key = readyKey(shown, request);
    const ready = key === null ? undefined : manifest.ready.get(key);
    if (ready) return this.fromReady(shown, ready);
    const at = url.indexOf('?');
    const path = decodeExactly(at === -1 ? url : url.slice(0, at));
    if (path === null) return badRequest();
    const query = at === -1 ? '' : url.slice(at);
    const resolved = resolve(manifest, { path, query, spa: shown.spa, wantsPage: wantsPage(headers.accept) });
    const missing = resolved.kind === 'none' || (resolved.kind === 'file' && resolved.status === 404);
    if (!missing || !hasHashInName(path)) return this.fromResolved({ shown, manifest, path, resolved, request });
    return this.fromRetired(shown, path, request).then(
      (answer) => answer ?? this.fromResolved({ shown, manifest, path, resolved, request }),
    );
  }

  private fromReady(shown: Shown, { headers, extent }: ReadyAnswer): SiteAnswer | Promise<SiteAnswer> {
    const body = this.contents.whole(shown, extent);
    if (body instanceof Promise) return body.then((read) => ({ status: 200, headers, body: read }));
    return { status: 200, headers, body };
  }

  /** A page that was loaded before the switch asks for what belongs to it; by its hash it is that and nothing else. */
  private async fromRetired(shown: Shown, path: string, request: SiteRequest): Promise<SiteAnswer | null> {
    if (shown.isPreview) return null;
    for (const earlier of await this.lookUps.retired(shown, new Date(Date.now() - GRACE_MS))) {
      const manifest = await this.contents.manifest(earlier);
      const file = manifest.files.get(path.slice(1));
      if (!file) continue;
      const resolved: Resolved = { kind: 'file', name: path.slice(1), file, status: 200 };
      return this.fromResolved({ shown: earlier, manifest, path, resolved, request });
    }
    return null;
  }

  private fromResolved(work: Work): SiteAnswer | null | Promise<SiteAnswer | null> {
    const { resolved, shown } = work;
    if (resolved.kind === 'none') return null;
    if (resolved.kind === 'redirect') {
      const cache = ['Cache-Control', 'public, max-age=0, must-revalidate', 'Content-Length', '0'];
      const headers = ['Location', resolved.to, ...cache, ...(shown.isPreview ? NO_INDEX : [])];
      return { status: resolved.status, headers, body: null };
    }
    return this.fromFile(work, resolved.name, resolved.file, resolved.status);
  }

  private fromFile(
    { shown, manifest, path, request }: Work,
    name: string,
    file: SiteFile,
    status: number,
  ): SiteAnswer | Promise<SiteAnswer> {
    const { headers: asked, method } = request;
    // A part is one of the content itself, so that parts of several answers fit together.
    const range = status === 200 && method === 'GET' ? asked.range : undefined;
    const { extent, encoding } = chooseForm(file, range === undefined ? asked['accept-encoding'] : undefined);
    const etag = encoding === null ? `"${file.hash}"` : `"${file.hash}-${encoding}"`;
    const set = new HeaderList(name, etag, file, encoding);
    if (shown.isPreview) set.put(...NO_INDEX);
    applyRules(set, manifest, path, shown.isPreview);
    if (status === 200) {
      const verdict = judgeConditions(
        method,
        { 'if-match': asked['if-match'], 'if-none-match': asked['if-none-match'] },
        { etag, modifiedAt: NO_DATE },
      );
      if (verdict === 'not_modified') return { status: 304, headers: set.withoutContent(), body: null };
      if (verdict === 'failed') return { status: 412, headers: ['Content-Length', '0'], body: null };
    }
    const ifRange = asked['if-range'];
    const holds = ifRange === undefined || ifRange === etag;
    const part = range === undefined || !holds ? null : parseRange(range, extent.bytes);
    if (part === 'unsatisfiable') {
      const headers = ['Content-Range', `bytes */${extent.bytes}`, 'Content-Length', '0'];
      return { status: 416, headers, body: null };
    }
    const bytes = part ? part.end - part.start + 1 : extent.bytes;
    set.put('Content-Length', String(bytes));
    if (part) set.put('Content-Range', `bytes ${part.start}-${part.end}/${extent.bytes}`);
    const whole = { status: part ? 206 : status, headers: set.list() };
    if (method === 'HEAD' || bytes === 0) return { ...whole, body: null };
    const key = readyKey(shown, request);
    if (key !== null && whole.status === 200) remember(manifest, key, { headers: whole.headers, extent });
    const body = part
      ? this.contents.part(shown.blobId, { at: extent.at + part.start, bytes })
      : this.contents.whole(shown, extent);
    return body instanceof Promise ? body.then((read) => ({ ...whole, body: read })) : { ...whole, body };
  }
}

interface Work {
  shown: Shown;
  manifest: LoadedManifest;
  path: string;
  resolved: Resolved;
  request: SiteRequest;
}

const NO_INDEX: [string, string] = ['X-Robots-Tag', 'noindex'];

/** Headers of an answer, by names without case. */
class HeaderList {
  private readonly byName = new Map<string, [name: string, value: string]>();

  constructor(name: string, etag: string, file: SiteFile, encoding: string | null) {
    this.put('Content-Type', mediaTypeOf(name));
    this.put('Cache-Control', cacheControl(name));
    this.put('ETag', etag);
    this.put('X-Content-Type-Options', 'nosniff');
    this.put('Accept-Ranges', 'bytes');
    if (file.br || file.gzip) this.put('Vary', 'Accept-Encoding');
    if (encoding !== null) this.put('Content-Encoding', encoding);
  }

  put(name: string, value: string): void {
    this.byName.set(name.toLowerCase(), [name, value]);
  }

  remove(name: string): void {
    this.byName.delete(name.toLowerCase());
  }

  list(): string[] {
    return [...this.byName.values()].flat();
  }

  withoutContent(): string[] {
    return [...this.byName.values()].filter(([name]) => !/^content-(?:type|encoding)$/i.test(name)).flat();
  }
}

/** What `_headers` says of the path; what several rules say of one header is said together. */
function applyRules(set: HeaderList, { headers }: LoadedManifest, path: string, isPreview: boolean): void {
  if (headers.length === 0) return;
  const said = new Map<string, string>();
  for (const rule of headers) {
    const captures = rule.path(path);
    if (!captures) continue;
    for (const [name, value] of rule.set) {
      const key = name.toLowerCase();
      // Previews of all accounts share a domain.
      if (isPreview && BY_TENANT_ON_PREVIEW.test(key)) continue;
      if (value === null) {
        said.delete(key);
        set.remove(name);
        continue;
      }
      const filled = fillIn(value, captures, encodeURIComponent);
      const together = said.has(key) ? `${said.get(key)}, ${filled}` : filled;
      said.set(key, together);
      set.put(name, together);
    }
  }
}

/** By what a plain answer is found again; null for a request with conditions or for a part. */
function readyKey({ spa, isPreview }: Shown, { method, url, headers }: SiteRequest): string | null {
  if (method !== 'GET' || headers.range !== undefined) return null;
  if (headers['if-none-match'] !== undefined || headers['if-match'] !== undefined) return null;
  const how = `${spa ? 's' : ''}${isPreview ? 'p' : ''}`;
  return `${how} ${url} ${headers['accept-encoding'] ?? ''} ${headers.accept ?? ''}`;
}

const MAX_READY = 500;
const MAX_KEY = 500;

/** Whoever asks for the same in ever other ways gains nothing by it. */
function remember({ ready }: LoadedManifest, key: string, answer: ReadyAnswer): void {
  if (key.length > MAX_KEY) return;
  if (ready.size >= MAX_READY) ready.clear();
  ready.set(key, answer);
}

function badRequest(): SiteAnswer {
  return { status: 400, headers: ['Content-Length', '0', 'Connection', 'close'], body: null };
}
