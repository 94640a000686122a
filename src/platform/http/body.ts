import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { DomainError } from '../errors/domain-error.js';
import { DEFAULT_BOUNDS } from './body.decorators.js';

const MAX_DEPTH = 64;

/** How many bytes a request's body may have; 0 for none. Throws 413 when it is announced as larger than `limit`. */
export function expectedBytes(request: IncomingMessage, limit: number): number {
  if (!announcesBody(request)) return 0;
  const declared = Number(request.headers['content-length'] ?? limit);
  if (declared > limit) throw bodyTooLarge(limit);
  return declared;
}

export function announcesBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Throws 415 unless the body is announced as plain JSON. */
export function mustBeJson({ headers }: IncomingMessage): void {
  const refusal = refusedMediaType(headers['content-type']) ?? refusedEncoding(headers['content-encoding']);
  if (refusal) throw refusal;
}

/** `values` is how many it may hold, at all depths. */
export function parseJsonObject(bytes: Buffer, values = DEFAULT_BOUNDS.values): Record<string, unknown> {
  if (!isUtf8(bytes)) throw malformed('The request body is not UTF-8.');
  let text = bytes.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
  checkShape(text, values);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('The request body is not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DomainError('bad_request', 'body_not_object', 'The request body must be a JSON object.');
  }
  if ((text.includes('__proto__') || text.includes('\\u')) && hasProtoKey(value)) {
    throw new DomainError('bad_request', 'forbidden_key', 'The request body holds a key named __proto__.');
  }
  return value as Record<string, unknown>;
}

export function bodyTooLarge(limit: number): DomainError {
  return new DomainError('too_large', 'body_too_large', `The request body must not be larger than ${limit} bytes.`, {
    members: { maxBytes: limit },
  });
}

function malformed(detail: string): DomainError {
  return new DomainError('bad_request', 'malformed_json', detail);
}

/** 415 for anything but plain JSON. */
export function refusedMediaType(contentType: string | undefined): DomainError | undefined {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '');
  if (type === 'application/json' && (charset === undefined || charset === 'utf-8' || charset === 'utf8'))
    return undefined;
  return new DomainError(
    'unsupported_media_type',
    'unsupported_media_type',
    'The request body must be application/json in UTF-8.',
  );
}

/** 415 for a `Content-Encoding` that changes the bytes. */
export function refusedEncoding(encoding: string | undefined): DomainError | undefined {
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return undefined;
  return new DomainError('unsupported_media_type', 'unsupported_encoding', 'The request body must not be compressed.');
}

/**
 * Counts brackets and commas outside strings. What works on the parsed value later recurses, and must not run out of stack; the
 * time it takes grows with the values, for the names of one object with their square.
 */
function checkShape(text: string, values: number): void {
  let depth = 0;
  let commas = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 0x22) i = endOfString(text, i);
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > MAX_DEPTH) throw bodyTooDeep();
    } else if (char === 0x5d || char === 0x7d) depth--;
    else if (char === 0x2c && ++commas >= values) throw tooManyValues(values);
  }
}

function bodyTooDeep(): DomainError {
  return new DomainError('bad_request', 'body_too_deep', `The request body nests deeper than ${MAX_DEPTH} levels.`);
}

function tooManyValues(values: number): DomainError {
  return new DomainError(
    'bad_request',
    'too_many_values',
    `The request body must not hold more than ${values} values.`,
  );
}

/** Index of the quote that ends the string which starts at `start`; the end of the text when none does. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return text.length;
}

function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey);
}
