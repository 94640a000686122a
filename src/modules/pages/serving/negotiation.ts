import type { Extent, SiteFile } from '../archive/manifest.js';

export interface Representation {
  extent: Extent;
  encoding: 'br' | 'gzip' | null;
}

/** The form of a file that a client takes, smallest first. */
export function chooseForm(file: SiteFile, acceptEncoding: string | undefined): Representation {
  if (acceptEncoding !== undefined) {
    if (file.br && accepts(acceptEncoding, 'br')) return { extent: file.br, encoding: 'br' };
    if (file.gzip && accepts(acceptEncoding, 'gzip')) return { extent: file.gzip, encoding: 'gzip' };
  }
  return { extent: file, encoding: null };
}

function accepts(header: string, coding: string): boolean {
  let others = false;
  for (const part of header.split(',')) {
    const [name, ...parameters] = part.split(';');
    const wanted = !parameters.some((parameter) => /^\s*q=0(?:\.0*)?\s*$/i.test(parameter));
    const token = name!.trim().toLowerCase();
    if (token === coding) return wanted;
    if (token === '*') others = wanted;
  }
  return others;
}

/** Whether a page is as good an answer as any. Clients that say nothing, or any type, take what they get. */
export function wantsPage(accept: string | undefined): boolean {
  return accept === undefined || /(?:^|[\s,])(?:text\/html|text\/\*|\*\/\*)/i.test(accept);
}

const KEPT_FOREVER = 'public, max-age=31536000, immutable';
const ASKED_AGAIN = 'public, max-age=0, must-revalidate';

/** `name.<hash>.js`, `name-<hash>.css`: hexadecimal, or the eight mixed characters that bundlers write. */
const HASHED =
  /[.-](?:(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}|(?![A-Z]?[a-z]+\d+\.)(?=[\w-]{0,7}[0-9])(?=[\w-]{0,7}[A-Z])[\w-]{8})(?:\.chunk|\.min|\.module)?\.(?:m?js|css|wasm|map|json|woff2?|ttf|otf|png|jpe?g|gif|webp|avif|svg|ico|mp4|webm)$/;

/** Whether another content would have another name. */
export function hasHashInName(name: string): boolean {
  return HASHED.test(name);
}

/** What has a hash in its name never changes; of all else the next request asks whether it did. */
export function cacheControl(name: string): string {
  return hasHashInName(name) ? KEPT_FOREVER : ASKED_AGAIN;
}
