import type { IncomingMessage } from 'node:http';
import { bodyTooLarge, announcesBody, parseJsonObject, refusedEncoding, refusedMediaType } from './body.js';
import type { BodyBounds } from './body.decorators.js';
import { GatheredBytes } from './gathered-bytes.js';
import { pacedBody } from './paced-body.js';

/** How long a body that is kept whole may take to arrive. */
const BODY_MS = 300_000;

/** Reads a request's JSON body, once its caller is known to be allowed to send one. A body that is absent is `{}`. */
export async function readJsonBody(request: IncomingMessage, bounds: BodyBounds): Promise<Record<string, unknown>> {
  if (!announcesBody(request)) return {};
  const { headers } = request;
  const refusal = refusedMediaType(headers['content-type']) ?? refusedEncoding(headers['content-encoding']);
  // An empty chunked body needs no media type, so a refusal waits until there is something to refuse.
  if (refusal && Number(headers['content-length'] ?? 0) > 0) throw refusal;
  const bytes = await readBytes(request, bounds.bytes);
  if (bytes.length === 0) return {};
  if (refusal) throw refusal;
  return parseJsonObject(bytes, bounds.values);
}

/** Takes the body in and stops at the limit, whatever the request had announced. */
async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const gathered = new GatheredBytes();
  const timer = setTimeout(() => request.destroy(), BODY_MS);
  try {
    for await (const chunk of pacedBody(request)) {
      if (gathered.size + chunk.length > limit) throw bodyTooLarge(limit);
      gathered.add(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
  return gathered.take();
}
