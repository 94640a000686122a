import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const DIGEST = Symbol('berth:body-digest');

type Carrier = IncomingMessage & { [DIGEST]?: BodyDigest | undefined };

interface BodyDigest {
  update(chunk: Buffer): void;
  hex(): string;
}

/** SHA-256 over a body while it arrives, whoever reads it. */
class PlainDigest implements BodyDigest {
  private readonly hash = createHash('sha256');

  update(chunk: Buffer): void {
    this.hash.update(chunk);
  }

  hex(): string {
    return this.hash.copy().digest('hex');
  }
}

/** Each costs a search, and no route takes a body of so many parts. */
const MAX_DELIMITERS = 100;
const CRLF = '\r\n';

/**
 * The same of a multipart body, but for its boundary: clients make up a new one each time they send the same parts. What is
 * digested is the body without its delimiters, and where they stood, from which it could be put together again.
 */
class MultipartDigest implements BodyDigest {
  private readonly hash = createHash('sha256');
  private readonly delimiter: Buffer;
  private readonly places: number[] = [];
  private digested = 0;
  /** The last bytes, which may be the start of a delimiter. The first one needs no line before it. */
  private held: Buffer = Buffer.from(CRLF);

  constructor(boundary: string) {
    this.delimiter = Buffer.from(`${CRLF}--${boundary}`);
  }

  update(chunk: Buffer): void {
    let rest = Buffer.concat([this.held, chunk]);
    while (this.places.length < MAX_DELIMITERS) {
      const at = rest.indexOf(this.delimiter);
      if (at === -1) break;
      this.take(rest.subarray(0, at));
      this.places.push(this.digested);
      rest = rest.subarray(at + this.delimiter.length);
    }
    const cut = Math.max(0, rest.length - this.delimiter.length + 1);
    this.take(rest.subarray(0, cut));
    this.held = Buffer.from(rest.subarray(cut));
  }

  hex(): string {
    const content = this.hash.copy().update(this.held).digest('hex');
    return createHash('sha256').update(`${content} ${this.places.join()}`).digest('hex');
  }

  private take(bytes: Buffer): void {
    this.hash.update(bytes);
    this.digested += bytes.length;
  }
}

/** Must be called as soon as the request is there: parts of the body may arrive before anyone reads it. */
export function digestBody(request: IncomingMessage): void {
  const boundary = /^multipart\/[^;]+;.*\bboundary="?([^";]{1,70})/i.exec(request.headers['content-type'] ?? '')?.[1];
  const digest = boundary === undefined ? new PlainDigest() : new MultipartDigest(boundary);
  (request as Carrier)[DIGEST] = digest;
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null && (request as Carrier)[DIGEST]) digest.update(chunk);
    return push(chunk, encoding);
  };
}

/** For a request that was refused: what is still to come of its body costs nothing. */
export function leaveUndigested(request: IncomingMessage): void {
  (request as Carrier)[DIGEST] = undefined;
}

/** The digest of the body, in hex; only what has arrived counts, so ask once the request is complete. */
export function bodyDigest(request: IncomingMessage): string {
  const digest = (request as Carrier)[DIGEST];
  if (!digest) throw new Error('The body of this request is not digested.');
  return digest.hex();
}
