import { badField } from '../../../platform/errors/domain-error.js';

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = String.raw`"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*"`;
/** RFC 9110, section 8.3.1. */
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;(?:[ \\t]*${TOKEN}=(?:${TOKEN}|${QUOTED}))?)*$`);
const MAX = 255;

export const UNKNOWN_TYPE = 'application/octet-stream';

/** The media type that an object is stored with: as it was sent, if it is one. */
export function readContentType(header: string | undefined): string {
  const type = header?.trim() ?? '';
  if (type === '') return UNKNOWN_TYPE;
  if (type.length <= MAX && MEDIA_TYPE.test(type)) return type;
  throw badField('Content-Type', 'malformed', `Content-Type must be a media type of at most ${MAX} bytes`);
}

/** What no browser runs, whatever it holds. XML may be a page or a drawing with scripts, and so may what nobody has heard of. */
const HARMLESS = new Set([
  'application/json',
  'application/javascript',
  'application/manifest+json',
  'application/wasm',
  'text/css',
  'text/csv',
  'text/javascript',
  'text/markdown',
  'text/plain',
]);
const HARMLESS_KINDS = /^(?:image|audio|video|font)\/(?!.*xml)/;

/** Whether browsers may show it in place. */
export function mayBeShown(contentType: string): boolean {
  const essence = contentType.split(';', 1)[0]!.trim().toLowerCase();
  return HARMLESS.has(essence) || HARMLESS_KINDS.test(essence);
}
