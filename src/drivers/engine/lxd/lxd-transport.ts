import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import { EngineError } from '../engine.js';
import { lxdError } from './lxd-error.js';
import type { LxdEndpoint } from './lxd-endpoint.js';

export interface LxdCall {
  body?: unknown;
  /** Sent as it is instead of JSON. */
  stream?: Readable | Buffer;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  /** Leaves out the project, for what stands outside of projects. */
  global?: boolean;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface LxdAnswer<T> {
  metadata: T;
  /** Path of the background operation, where the engine began one. */
  operation: string | null;
  etag: string | null;
}

/** What reading and quick changes may take; an engine that needs longer is as good as away. */
const DEADLINE_MS = 10_000;

/** One engine over its Unix socket or over HTTPS with a client certificate: requests with deadlines, and errors. */
export class LxdTransport {
  private readonly pool: Pool;

  constructor(
    private readonly endpoint: LxdEndpoint,
    private readonly project: string,
  ) {
    // Deadlines are set per call: a wait for an operation may hold its connection for minutes.
    this.pool = new Pool(endpoint.origin, {
      connect: { ...endpoint.connect, timeout: 3000 },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async call<T>(method: string, path: string, options: LxdCall = {}): Promise<LxdAnswer<T>> {
    const what = `${method} ${path}`;
    const { status, headers, bytes } = await this.send(method, path, options);
    const envelope = parse(bytes, what);
    if (status >= 400 || envelope.type === 'error') {
      throw lxdError(envelope.error_code || status, envelope.error ?? `HTTP ${status}`, what);
    }
    return {
      metadata: envelope.metadata as T,
      operation: envelope.type === 'async' ? (envelope.operation ?? null) : null,
      etag: single(headers.etag),
    };
  }

  async get<T>(path: string, options: LxdCall = {}): Promise<T> {
    return (await this.call<T>('GET', path, options)).metadata;
  }

  /** For the few calls whose answer is plain content. Null where the engine says 404. */
  async content(path: string, options: LxdCall = {}): Promise<Buffer | null> {
    const { status, bytes } = await this.send('GET', path, options);
    if (status === 404) return null;
    if (status >= 400) {
      const { error } = parse(bytes, `GET ${path}`);
      throw lxdError(status, error ?? `HTTP ${status}`, `GET ${path}`);
    }
    return bytes;
  }

  async close(): Promise<void> {
    await this.pool.destroy();
  }

  private async send(method: string, path: string, options: LxdCall) {
    const query = new URLSearchParams(options.global ? {} : { project: this.project });
    for (const [name, value] of Object.entries(options.query ?? {})) query.set(name, value);
    const deadline = AbortSignal.timeout(options.timeoutMs ?? DEADLINE_MS);
    const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
    const search = query.size > 0 ? `?${query.toString()}` : '';
    try {
      const { statusCode, headers, body } = await this.pool.request({
        method,
        path: `/1.0${path}${search}`,
        headers: {
          'content-type': options.stream ? 'application/octet-stream' : 'application/json',
          ...options.headers,
        },
        body: options.stream ?? (options.body === undefined ? null : JSON.stringify(options.body)),
        signal,
      });
      return { status: statusCode, headers, bytes: Buffer.from(await body.arrayBuffer()) };
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (deadline.aborted) throw new EngineError('unavailable', `${method} ${path}: no answer in time`);
      throw new EngineError('unavailable', `The engine cannot be reached at ${this.endpoint.origin}`, { cause: error });
    }
  }
}

interface Envelope {
  type?: string;
  error?: string;
  error_code?: number;
  operation?: string;
  metadata?: unknown;
}

function parse(bytes: Buffer, what: string): Envelope {
  try {
    return JSON.parse(bytes.toString()) as Envelope;
  } catch {
    throw new EngineError('failed', `${what}: the engine's answer is not JSON`);
  }
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
