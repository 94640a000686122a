import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** What is known about a request from its first moment on. */
export interface RequestContext {
  readonly id: string;
  /** The client's address, as the trusted proxies tell it. */
  readonly address: string;
  readonly startedAt: number;
  /** Whether a transaction has been committed for it, or may have been. */
  changed?: boolean;
}

const storage = new AsyncLocalStorage<RequestContext>();
const CONTEXT = Symbol('berth:request-context');

type Carrier = IncomingMessage & { [CONTEXT]?: RequestContext };

/** Attaches the context to the request and runs what handles it inside. */
export function runInContext(request: IncomingMessage, context: RequestContext, work: () => void): void {
  (request as Carrier)[CONTEXT] = context;
  storage.run(context, work);
}

/** The context of a request at hand; cheaper than asking the async storage. */
export function contextOf(request: IncomingMessage): RequestContext | undefined {
  return (request as Carrier)[CONTEXT];
}

/** The context of the request this code runs for, if it runs for one. */
export function requestContext(): RequestContext | undefined {
  return storage.getStore();
}

/** Id of the request this code runs for; operations and log lines carry it on. */
export function requestId(): string | undefined {
  return storage.getStore()?.id;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const POOL = Buffer.allocUnsafe(16 * 256);
let used = POOL.length;

/** `req_` and 80 random bits. Clients cannot choose it: it stands in the logs. */
export function newRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  let id = 'req_';
  for (let i = 0; i < 16; i++) id += ALPHABET[POOL[used++]! & 31];
  return id;
}
