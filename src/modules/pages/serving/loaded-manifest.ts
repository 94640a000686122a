import { decodeManifest, type Extent, type SiteFile } from '../archive/manifest.js';
import { pathPattern, type PathPattern } from '../archive/path-pattern.js';
import type { RedirectRule } from '../archive/redirect-rules.js';

export interface Redirect extends Omit<RedirectRule, 'from'> {
  from: PathPattern;
}

export interface Headers {
  path: PathPattern;
  set: [name: string, value: string | null][];
}

/** What an answer is before its body: the same each time the same is asked. */
export interface ReadyAnswer {
  /** Names and values in turn, as Node takes them quickest. */
  headers: string[];
  extent: Extent;
}

/** A manifest, ready to be asked. */
export interface LoadedManifest {
  files: Map<string, SiteFile>;
  redirects: Redirect[];
  headers: Headers[];
  /** Plain answers that were given before, by what was asked. */
  ready: Map<string, ReadyAnswer>;
}

export function loadManifest(bytes: Buffer): LoadedManifest {
  const { files, redirects, headers } = decodeManifest(bytes);
  return {
    files: new Map(Object.entries(files)),
    redirects: redirects.map((rule) => ({ ...rule, from: pathPattern(rule.from, 'at_end')! })),
    headers: headers.map(({ path, set }) => ({ set, path: pathPattern(path, 'anywhere')! })),
    ready: new Map(),
  };
}
