import type { HeaderRule } from './header-rules.js';
import type { RedirectRule } from './redirect-rules.js';

/** Where some bytes stand in a pack. */
export interface Extent {
  at: number;
  bytes: number;
}

export interface SiteFile extends Extent {
  /** What tells its content from others, in hexadecimal. */
  hash: string;
  /** The same content, compressed; absent where that gains nothing. */
  br?: Extent;
  gzip?: Extent;
}

/** What a deployment holds: it stands at the end of its pack. */
export interface Manifest {
  files: Record<string, SiteFile>;
  redirects: RedirectRule[];
  headers: HeaderRule[];
}

/** Packs of another version were written by another release, and are read by what it says. */
const VERSION = 1;

export function encodeManifest(manifest: Manifest): Buffer {
  return Buffer.from(JSON.stringify({ version: VERSION, ...manifest }));
}

export function decodeManifest(bytes: Buffer): Manifest {
  const { version, ...manifest } = JSON.parse(bytes.toString('utf8')) as Manifest & { version: number };
  if (version !== VERSION) throw new Error(`a manifest of version ${version}`);
  return manifest;
}
