import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import { parseRange } from '../../../platform/http/byte-range.js';
import { judgeConditions } from '../../../platform/http/conditions.js';
import type { AnswerSource } from '../../../platform/http/paced-answer.js';
import { decodeExactly } from '../../../platform/http/percent-encoding.js';
import type { Extent } from '../archive/manifest.js';
import { applyRules, HeaderList } from './answer-headers.js';
import type { LoadedManifest } from './loaded-manifest.js';
import { chooseForm, hasHashInName, wantsPage } from './negotiation.js';
import { resolve, type Resolved } from './resolve.js';
import { SiteContents } from './site-contents.reader.js';
import { SiteLookUps, type Shown } from './site-look-ups.service.js';
import { WeighedCache } from './weighed-cache.js';

export interface SiteRequest {
  method: 'GET' | 'HEAD';
  /** As it was sent, with its query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** The address it comes from, found out only where it matters. */
  client: () => string;
}

export interface SiteAnswer {
  status: number;
  /** Names and values in turn. */
  headers: string[];
  body: Buffer | AnswerSource | null;
}

/** How long pages that were loaded before a switch still find what belongs to them. */
const GRACE_MS = 60_000;
/** Of a switch, an answer knows nothing but its tag: a date would go backwards with a rollback. */
const NO_DATE = new Date(0);
const READY_BYTES = 16 * 1024 * 1024;
/** Whoever asks for the same in ever longer ways gains nothing by it. */
const MAX_KEY = 600;

/** What an answer is before its body: the same each time the same is asked. */
interface ReadyAnswer {
  /** Names and values in turn, as Node takes them quickest. */
  headers: string[];
  extent: Extent;
}

/** Puts together what a site answers. */
@Injectable()
export class SiteAnswers {
  /** Plain answers that were given before, by what was asked. */
  private readonly ready = new WeighedCache<ReadyAnswer>(READY_BYTES);

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
    const ready = key === null ? undefined : this.ready.peek(key);
    if (ready) return this.fromReady(shown, ready, request);
    const at = url.indexOf('?');
    const path = decodeExactly(at === -1 ? url : url.slice(0, at));
    if (path === null) return refused(400);
    const query = at === -1 ? '' : url.slice(at);
    const resolved = resolve(manifest, { path, query, spa: shown.spa, wantsPage: wantsPage(headers.accept) });
    const missing = resolved.kind === 'none' || (resolved.kind === 'file' && resolved.status === 404);
    if (!missing || !hasHashInName(path)) return this.fromResolved({ shown, manifest, path, resolved, request });
    return this.fromRetired(shown, path, request).then(
      (answer) => answer ?? this.fromResolved({ shown, manifest, path, resolved, request }),
    );
  }

  private fromReady(
    shown: Shown,
    { headers, extent }: ReadyAnswer,
    { client }: SiteRequest,
  ): SiteAnswer | Promise<SiteAnswer> {
    const body = this.contents.whole(shown, extent, client);
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
      const resolved: Resolved = { kind: 'file', name: path.slice(1), file, status: 200, byAccept: false };
      return this.fromResolved({ shown: earlier, manifest, path, resolved, request });
    }
    return null;
  }

  private fromResolved(work: Work): SiteAnswer | null | Promise<SiteAnswer | null> {
    const { resolved, shown } = work;
    if (resolved.kind === 'none') return null;
    if (resolved.kind === 'too_long') return refused(414);
    if (resolved.kind === 'redirect') {
      const cache = ['Cache-Control', 'public, max-age=0, must-revalidate', 'Content-Length', '0'];
      const headers = ['Location', resolved.to, ...cache, ...(shown.isPreview ? NO_INDEX : [])];
      return { status: resolved.status, headers, body: null };
    }
    return this.fromFile(work, resolved);
  }

  private fromFile(
    { shown, manifest, path, request }: Work,
    { name, file, status, byAccept }: FoundFile,
  ): SiteAnswer | Promise<SiteAnswer> {
    const { headers: asked, method, client } = request;
    // A part is one of the content itself, so that parts of several answers fit together.
    const range = status === 200 && method === 'GET' ? asked.range : undefined;
    const { extent, encoding } = chooseForm(file, range === undefined ? asked['accept-encoding'] : undefined);
    const etag = encoding === null ? `"${file.hash}"` : `"${file.hash}-${encoding}"`;
    const set = new HeaderList(name, etag, file, { encoding, byAccept });
    applyRules(set, manifest.headers, path, shown.isPreview);
    if (shown.isPreview) set.put(...NO_INDEX);
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
    if (key !== null && whole.status === 200) this.remember(key, { headers: whole.headers, extent });
    const body = part
      ? this.contents.part(shown.blobId, { at: extent.at + part.start, bytes }, client)
      : this.contents.whole(shown, extent, client);
    return body instanceof Promise ? body.then((read) => ({ ...whole, body: read })) : { ...whole, body };
  }

  private remember(key: string, answer: ReadyAnswer): void {
    this.ready.put(key, answer, weightOf(key, answer));
  }
}

type FoundFile = Extract<Resolved, { kind: 'file' }>;

interface Work {
  shown: Shown;
  manifest: LoadedManifest;
  path: string;
  resolved: Resolved;
  request: SiteRequest;
}

const NO_INDEX: [string, string] = ['X-Robots-Tag', 'noindex'];

/** By what a plain answer is found again; null for a request with conditions, for a part, or for a long one. */
function readyKey({ blobId, spa, isPreview }: Shown, { method, url, headers }: SiteRequest): string | null {
  if (method !== 'GET' || headers.range !== undefined) return null;
  if (headers['if-none-match'] !== undefined || headers['if-match'] !== undefined) return null;
  const how = `${spa ? 's' : ''}${isPreview ? 'p' : ''}`;
  const key = `${blobId}${how} ${url} ${headers['accept-encoding'] ?? ''} ${headers.accept ?? ''}`;
  return key.length > MAX_KEY ? null : key;
}

/** What a remembered answer takes beside its strings, about. */
const READY_OVERHEAD = 512;

function weightOf(key: string, { headers }: ReadyAnswer): number {
  return headers.reduce((sum, { length }) => sum + length, READY_OVERHEAD + key.length);
}

/** What is malformed, or asks for what cannot be answered. */
function refused(status: 400 | 414): SiteAnswer {
  return { status, headers: ['Content-Length', '0', 'Cache-Control', 'no-store', 'Connection', 'close'], body: null };
}
