import { Pool } from 'undici';

export interface Sent {
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is; the media type stays JSON unless `headers` say otherwise. */
  raw?: string | Buffer;
  query?: Record<string, string>;
}

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** What came back, read to its end. */
export class Answer {
  constructor(
    readonly request: string,
    readonly status: number,
    readonly headers: Record<string, string | string[] | undefined>,
    readonly text: string,
    private readonly explain: () => string,
  ) {}

  header(name: string): string | undefined {
    const value = this.headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  get mediaType(): string {
    return (this.header('content-type') ?? '').split(';')[0]!.trim();
  }

  /** The body as JSON; undefined when there is none, or when it is no JSON. */
  get body(): any {
    return /^application\/([a-z.]+\+)?json$/.test(this.mediaType) && this.text !== ''
      ? JSON.parse(this.text)
      : undefined;
  }

  /** Itself, if it has one of these statuses; else an error that shows all there is to see. */
  expect(...statuses: number[]): this {
    if (statuses.includes(this.status)) return this;
    const wanted = statuses.join(' or ');
    throw new Error(`${this.request} answered ${this.status} instead of ${wanted}: ${this.text}\n${this.explain()}`);
  }
}

/** A client of one surface with one credential. It changes nothing about the paths it is given, odd ones included. */
export class Api {
  constructor(
    private readonly pool: Pool,
    readonly prefix: string,
    readonly headers: Record<string, string>,
    private readonly explain: () => string = () => '',
    private readonly watch: (answer: Answer) => void = () => undefined,
  ) {}

  /** The same surface with other headers on top; an empty one takes a header away. */
  with(headers: Record<string, string>): Api {
    const merged = Object.entries({ ...this.headers, ...headers }).filter(([, value]) => value !== '');
    return new Api(this.pool, this.prefix, Object.fromEntries(merged), this.explain, this.watch);
  }

  async send(method: Method, path: string, { headers = {}, json, raw, query }: Sent = {}): Promise<Answer> {
    const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
    const search = query ? `${path.includes('?') ? '&' : '?'}${new URLSearchParams(query).toString()}` : '';
    const target = `${this.prefix}${path}${search}`;
    const response = await this.pool.request({
      method,
      path: target,
      headers: { ...this.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body ?? null,
    });
    const text = await response.body.text();
    const answer = new Answer(`${method} ${target}`, response.statusCode, response.headers, text, this.explain);
    this.watch(answer);
    return answer;
  }

  get(path: string, sent?: Sent): Promise<Answer> {
    return this.send('GET', path, sent);
  }

  post(path: string, json: unknown = {}, sent: Sent = {}): Promise<Answer> {
    return this.send('POST', path, { json, ...sent });
  }

  put(path: string, json: unknown = {}, sent: Sent = {}): Promise<Answer> {
    return this.send('PUT', path, { json, ...sent });
  }

  patch(path: string, json: unknown = {}, sent: Sent = {}): Promise<Answer> {
    return this.send('PATCH', path, { json, ...sent });
  }

  delete(path: string, sent?: Sent): Promise<Answer> {
    return this.send('DELETE', path, sent);
  }

  /** Waits until the resource has one of these statuses, by the platform's own long poll. */
  async waitFor(path: string, statuses: string | string[], seconds = 60): Promise<Answer> {
    const wanted = [statuses].flat();
    for (let left = seconds; ; left -= LONGEST_POLL) {
      const timeout = String(Math.min(left, LONGEST_POLL));
      const answer = await this.get(path, { query: { waitFor: wanted.join(','), timeout } });
      if (wanted.includes((answer.expect(200).body as { status: string }).status)) return answer;
      if (left > LONGEST_POLL) continue;
      throw new Error(`${path} is not ${wanted.join(' or ')} after ${seconds} s: ${answer.text}\n${this.explain()}`);
    }
  }
}

/** Seconds the platform waits at most. */
const LONGEST_POLL = 60;
