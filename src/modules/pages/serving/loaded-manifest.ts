import { decodeManifest, type SiteFile } from '../archive/manifest.js';
import { pathPattern, type PathPattern } from '../archive/path-pattern.js';
import type { RedirectRule } from '../archive/redirect-rules.js';

export interface Redirect extends Omit<RedirectRule, 'from'> {
  from: PathPattern;
}

export interface Headers {
  path: PathPattern;
  set: [name: string, value: string | null][];
}

/** A manifest, ready to be asked. */
export interface LoadedManifest {
  files: Map<string, SiteFile>;
  redirects: Redirect[];
  headers: Headers[];
}

export function loadManifest(bytes: Buffer): LoadedManifest {
  const { files, redirects, headers } = decodeManifest(bytes);
  return {
    files: new Map(Object.entries(files)),
    redirects: redirects.map((rule) => ({ ...rule, from: pathPattern(rule.from, 'at_end')! })),
    headers: headers.map(({ path, set }) => ({ set, path: pathPattern(path, 'anywhere')! })),
  };
}
