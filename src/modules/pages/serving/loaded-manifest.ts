import { decodeManifest, type SiteFile } from '../archive/manifest.js';
import { pathPattern, template, type PathPattern, type Template } from '../archive/path-pattern.js';
import { REWRITING, type RedirectRule } from '../archive/redirect-rules.js';

export interface Redirect {
  from: PathPattern;
  /** Of a rewriting rule it is a path, decoded. */
  to: Template;
  status: number;
  force: boolean;
  rewrites: boolean;
}

export interface Headers {
  path: PathPattern;
  set: [name: string, value: Template | null][];
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
    redirects: redirects.map(loadRedirect),
    headers: headers.map(({ path, set }) => ({
      path: pathPattern(path, 'anywhere')!,
      set: set.map(([name, value]) => [name, value === null ? null : template(value)]),
    })),
  };
}

function loadRedirect({ from, to, status, force }: RedirectRule): Redirect {
  const rewrites = REWRITING.has(status);
  const target = rewrites ? decodeSafely(to.replace(/[?#][^]*/, '')) : to;
  return { from: pathPattern(from, 'at_end')!, to: template(target), status, force, rewrites };
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
