import type { SiteFile } from '../archive/manifest.js';
import { mediaTypeOf } from '../archive/media-types.js';
import { encodeCaptures } from '../archive/path-pattern.js';
import type { Headers } from './loaded-manifest.js';
import { cacheControl } from './negotiation.js';

const BY_TENANT_ON_PREVIEW = /^(?:set-cookie|strict-transport-security)$/i;
/** What `_headers` may make of one header, and of all of them together. Few clients take much more. */
const MAX_VALUE = 8192;
const MAX_BLOCK = 32_768;
/** What stands around a header's name and its value. */
const AROUND = ': \r\n'.length;

/** What an answer depends on beside its address. */
export interface Form {
  encoding: string | null;
  byAccept: boolean;
}

/** Headers of an answer, by names without case. */
export class HeaderList {
  private readonly byName = new Map<string, [name: string, values: readonly string[]]>();

  constructor(name: string, etag: string, file: SiteFile, { encoding, byAccept }: Form) {
    this.put('Content-Type', mediaTypeOf(name));
    this.put('Cache-Control', cacheControl(name));
    this.put('ETag', etag);
    this.put('X-Content-Type-Options', 'nosniff');
    this.put('Accept-Ranges', 'bytes');
    const varies = [...(byAccept ? ['Accept'] : []), ...(file.br || file.gzip ? ['Accept-Encoding'] : [])];
    if (varies.length > 0) this.put('Vary', varies.join(', '));
    if (encoding !== null) this.put('Content-Encoding', encoding);
  }

  /** Several values stand in as many lines. */
  put(name: string, ...values: string[]): void {
    this.byName.set(name.toLowerCase(), [name, values]);
  }

  remove(name: string): void {
    this.byName.delete(name.toLowerCase());
  }

  list(): string[] {
    return [...this.byName.values()].flatMap(([name, values]) => values.flatMap((value) => [name, value]));
  }

  withoutContent(): string[] {
    this.remove('Content-Type');
    this.remove('Content-Encoding');
    return this.list();
  }
}

interface Said {
  name: string;
  values: string[];
  bytes: number;
}

/** What `_headers` says of the path. A header that would become too long is left out, and one too many as well. */
export function applyRules(set: HeaderList, rules: readonly Headers[], path: string, isPreview: boolean): void {
  const saids = new Map<string, Said>();
  let room = MAX_BLOCK;
  for (const rule of rules) {
    const captures = rule.path(path);
    if (!captures) continue;
    const encoded = encodeCaptures(captures, encodeURIComponent);
    for (const [name, value] of rule.set) {
      const key = name.toLowerCase();
      // Previews of all accounts share a domain.
      if (isPreview && BY_TENANT_ON_PREVIEW.test(key)) continue;
      const said = saids.get(key) ?? { name, values: [], bytes: 0 };
      if (value === null) {
        room += said.bytes;
        saids.delete(key);
        set.remove(name);
        continue;
      }
      const alone = key === 'set-cookie';
      const taken = name.length + AROUND;
      const filled = value(encoded, Math.min(room - taken, alone ? MAX_VALUE : MAX_VALUE - said.bytes));
      if (filled === null) continue;
      said.values.push(filled);
      said.bytes += filled.length + taken;
      room -= filled.length + taken;
      saids.set(key, said);
    }
  }
  for (const [key, { name, values }] of saids) {
    // Cookies are the one thing that cannot be said in one line (RFC 9110, section 5.3).
    set.put(name, ...(key === 'set-cookie' ? values : [values.join(', ')]));
  }
}
