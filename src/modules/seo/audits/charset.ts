import { TextDecoder } from 'node:util';

/** How far into a page its encoding may be declared. */
const PRESCAN = 1024;

/** The text of a page: by its byte order mark, else its header, else what it says itself, else as UTF-8. */
export function decodeHtml(body: Uint8Array, contentType: string | undefined): string {
  const label = bomOf(body) ?? charsetOf(contentType) ?? declaredIn(body) ?? 'utf-8';
  return decoderFor(label).decode(body);
}

/** The charset parameter of a media type. */
export function charsetOf(contentType: string | undefined): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType ?? '')?.[1];
}

function bomOf([a, b, c]: Uint8Array): string | undefined {
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return a === 0xff && b === 0xfe ? 'utf-16le' : undefined;
}

function declaredIn(body: Uint8Array): string | undefined {
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, PRESCAN)).toString('latin1');
  const label = /<meta[^>]+charset\s*=\s*(?:["']\s*)?([^\s"'/>;]+)/i.exec(start)?.[1];
  // It was read as ASCII, so it cannot be that.
  return label && /^utf-?16/i.test(label) ? 'utf-8' : label;
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder('utf-8');
  }
}
