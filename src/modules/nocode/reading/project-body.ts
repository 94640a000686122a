import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { badField, DomainError } from '../../../platform/errors/domain-error.js';
import { announcesBody, bodyTooLarge, mustBeJson, parseJsonObject } from '../../../platform/http/body.js';
import { DEFAULT_BODY_LIMIT } from '../../../platform/http/body.decorators.js';
import { GatheredBytes } from '../../../platform/http/gathered-bytes.js';
import { pacedBody } from '../../../platform/http/paced-body.js';
import { MAX_DOCUMENT_BYTES } from '../dto/project.dto.js';
import { DocumentChecker, NotJson } from './document-checker.js';
import { malformed, TextDecoder } from './text-decoder.js';

/** A body whose `data` was taken out on the way. */
export interface ProjectBody {
  /** The other fields, with empty text in place of `data`. */
  fields: Record<string, unknown>;
  /** Valid JSON; undefined when `data` is absent or no text. */
  document: ReadDocument | undefined;
}

export interface ReadDocument {
  /** Bytes of its UTF-8. */
  bytes: number;
  /** As a JSON string, quotes included: as it is kept, and sent again. */
  literal: Buffer;
}

const QUOTE = 0x22;
const QUOTES = Buffer.from('"');
const BACKSLASH = 0x5c;

/**
 * Reads the body of a save. The document is decoded, measured and checked while it arrives, so that one that is too large or
 * no JSON is refused at the byte that makes it so; what surrounds it is read as every other body.
 */
export async function readProjectBody(request: IncomingMessage): Promise<ProjectBody> {
  if (!announcesBody(request)) return { fields: {}, document: undefined };
  mustBeJson(request);
  const reader = new BodyReader();
  for await (const chunk of pacedBody(request)) reader.write(chunk);
  return reader.end();
}

/** Tells the document from the rest: a string that is the value of `data` in the outermost object. */
class BodyReader {
  private readonly rest = new GatheredBytes();
  private depth = 0;
  private inText = false;
  private escaped = false;
  /** Raw text of the key under way at the outermost level, and the last one that was complete. */
  private key: string | null = null;
  private lastKey = '';
  private hasData = false;
  private place: 'key' | 'value' | 'elsewhere' = 'elsewhere';
  private document: Document | undefined;
  private inDocument = false;

  write(chunk: Buffer): void {
    for (let i = 0; i < chunk.length;) i = this.inDocument ? this.takeDocument(chunk, i) : this.takeRest(chunk, i);
  }

  end(): ProjectBody {
    if (this.inDocument) throw malformed();
    const bytes = this.rest.take();
    const fields = bytes.length === 0 ? {} : parseJsonObject(bytes);
    return { fields, document: typeof fields['data'] === 'string' ? this.document?.complete() : undefined };
  }

  private takeDocument(chunk: Buffer, from: number): number {
    const end = this.document!.write(chunk, from);
    if (end === -1) return chunk.length;
    this.inDocument = false;
    this.keep(Buffer.from('"'));
    return end;
  }

  /** Goes on until the document begins; answers the index where it does, or the end. */
  private takeRest(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      if (this.inText) this.textByte(chunk[i]!);
      else if (chunk[i] !== QUOTE) this.structureByte(chunk[i]!);
      else if (this.place === 'value' && isData(this.lastKey)) {
        this.keep(chunk.subarray(from, i + 1));
        this.document = new Document();
        this.inDocument = true;
        this.place = 'elsewhere';
        return i + 1;
      } else {
        this.inText = true;
        this.key = this.place === 'key' ? '' : null;
      }
    }
    this.keep(chunk.subarray(from));
    return chunk.length;
  }

  private textByte(byte: number): void {
    if (!this.escaped && byte === QUOTE) {
      this.inText = false;
      if (this.key !== null) this.endKey(this.key);
      return;
    }
    this.escaped = !this.escaped && byte === BACKSLASH;
    // No spelling of `data` is longer than six characters for each of its own.
    if (this.key !== null && this.key.length < 25) this.key += String.fromCharCode(byte);
  }

  private structureByte(byte: number): void {
    if (byte === 0x7b || byte === 0x5b) {
      this.depth++;
      this.place = this.depth === 1 && byte === 0x7b ? 'key' : 'elsewhere';
    } else if (byte === 0x7d || byte === 0x5d) {
      this.depth--;
      this.place = 'elsewhere';
    } else if (this.depth === 1 && byte === 0x3a) this.place = 'value';
    else if (this.depth === 1 && byte === 0x2c) this.place = 'key';
  }

  /** One document a body: each of them takes room of its own. */
  private endKey(key: string): void {
    this.lastKey = key;
    if (!isData(key)) return;
    if (this.hasData) throw badField('data', 'given_twice', 'data must be given once');
    this.hasData = true;
  }

  private keep(bytes: Buffer): void {
    if (this.rest.size + bytes.length > DEFAULT_BODY_LIMIT) throw bodyTooLarge(DEFAULT_BODY_LIMIT);
    this.rest.add(bytes);
  }
}

/** The text of `data`, judged as it comes. */
class Document {
  private readonly text = new TextDecoder();
  private readonly literal: Buffer[] = [QUOTES];
  private readonly checker = new DocumentChecker();

  write(chunk: Buffer, from: number): number {
    const before = this.text.size;
    const end = this.text.write(chunk, from);
    this.literal.push(chunk.subarray(from, end === -1 ? chunk.length : end));
    if (this.text.size > MAX_DOCUMENT_BYTES) throw documentTooLarge();
    judged(() => this.checker.write(this.text.from(before)));
    return end;
  }

  complete(): ReadDocument {
    judged(() => this.checker.end());
    const text = this.text.from(0);
    if (!isUtf8(text)) throw malformed('The request body is not UTF-8.');
    const literal = Buffer.concat(this.literal);
    // Spelled out at length it takes up to six times the room for the same text.
    const isPlain = literal.length <= 2 * text.length + QUOTES.length * 2;
    return { bytes: text.length, literal: isPlain ? literal : Buffer.from(JSON.stringify(text.toString('utf8'))) };
  }
}

/** Whether a key's raw text spells `data`. */
function isData(key: string): boolean {
  if (key === 'data') return true;
  if (!key.includes('\\')) return false;
  try {
    return JSON.parse(`"${key}"`) === 'data';
  } catch {
    return false;
  }
}

function judged(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const { offset } = error;
    throw badField('data', 'not_json', `data must be JSON text; it is none from byte ${offset} on`, { offset });
  }
}

function documentTooLarge(): DomainError {
  const detail = `data must not be larger than ${MAX_DOCUMENT_BYTES} bytes of UTF-8.`;
  return new DomainError('too_large', 'document_too_large', detail, { members: { maxBytes: MAX_DOCUMENT_BYTES } });
}
