import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const DIGEST = Symbol('berth:body-digest');

type Carrier = IncomingMessage & { [DIGEST]?: BodyDigest };

/**
 * SHA-256 over a body while it arrives, whoever reads it. The boundary of a multipart body is left out: clients make up a
 * new one each time they send the same parts.
 */
class BodyDigest {
  private readonly hash: Hash = createHash('sha256');
  private held = Buffer.alloc(0);

  constructor(private readonly boundary: Buffer | undefined) {}

  update(chunk: Buffer): void {
    if (!this.boundary) {
      this.hash.update(chunk);
      return;
    }
    let rest = this.held.length > 0 ? Buffer.concat([this.held, chunk]) : chunk;
    for (let at = rest.indexOf(this.boundary); at !== -1; at = rest.indexOf(this.boundary)) {
      this.hash.update(rest.subarray(0, at));
      rest = rest.subarray(at + this.boundary.length);
    }
    // The end may be the start of a boundary that the next chunk completes.
    const cut = Math.max(0, rest.length - this.boundary.length + 1);
    this.hash.update(rest.subarray(0, cut));
    this.held = Buffer.from(rest.subarray(cut));
  }

  hex(): string {
    return this.hash.copy().update(this.held).digest('hex');
  }
}

/** Must be called as soon as the request is there: parts of the body may arrive before anyone reads it. */
export function digestBody(request: IncomingMessage): void {
  const boundary = /^multipart\/[^;]+;.*\bboundary="?([^";]{1,70})/i.exec(request.headers['content-type'] ?? '')?.[1];
  const digest = new BodyDigest(boundary === undefined ? undefined : Buffer.from(boundary));
  (request as Carrier)[DIGEST] = digest;
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null) digest.update(chunk);
    return push(chunk, encoding);
  };
}

/** The digest of the body, in hex; only what has arrived counts, so ask once the request is complete. */
export function bodyDigest(request: IncomingMessage): string {
  const digest = (request as Carrier)[DIGEST];
  if (!digest) throw new Error('The body of this request is not digested.');
  return digest.hex();
}
