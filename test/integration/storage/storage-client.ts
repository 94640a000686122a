import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as send, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Berth, TestAccount } from '../../support/app.js';

export interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

/** The API's objects as bytes, addressed as they are given: nothing tidies a path or a query on the way. */
export class StorageClient {
  constructor(
    private readonly berth: Berth,
    readonly account: TestAccount,
  ) {}

  async bucket(kind: string, isPublic = false): Promise<string> {
    const name = `${kind}-${randomBytes(4).toString('hex')}`;
    return (await this.account.api.post('/storage/buckets', { name, isPublic })).expect(201).body.id as string;
  }

  put(bucket: string, key: string, content: Buffer | string, headers: Record<string, string> = {}): Promise<Got> {
    const bytes = Buffer.from(content);
    return this.call('PUT', `/storage/buckets/${bucket}/objects?key=${encodeURIComponent(key)}`, headers, bytes);
  }

  get(bucket: string, key: string, headers: Record<string, string> = {}): Promise<Got> {
    return this.call('GET', `/storage/buckets/${bucket}/download?key=${encodeURIComponent(key)}`, headers);
  }

  /** An object that is read as it comes. */
  async stream(bucket: string, key: string): Promise<IncomingMessage> {
    const path = `/api/v1/storage/buckets/${bucket}/download?key=${encodeURIComponent(key)}`;
    const request = open(this.berth.baseUrl, 'GET', path, this.auth());
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  delete(bucket: string, key: string, headers: Record<string, string> = {}): Promise<Got> {
    return this.call('DELETE', `/storage/buckets/${bucket}/objects?key=${encodeURIComponent(key)}`, headers);
  }

  /** What anybody gets; the path as it stands. */
  public(path: string, { method = 'GET', headers = {} }: { method?: string; headers?: object } = {}): Promise<Got> {
    return exchange(this.berth.env['CDN_URL']!, method, path, headers);
  }

  call(method: string, path: string, headers: object = {}, body?: Buffer): Promise<Got> {
    return exchange(this.berth.baseUrl, method, `/api/v1${path}`, { ...this.auth(), ...headers }, body);
  }

  /** A PUT whose body is the test's to send. */
  begin(
    bucket: string,
    key: string,
    headers: Record<string, string>,
  ): { request: ClientRequest; answer: Promise<Got> } {
    const path = `/api/v1/storage/buckets/${bucket}/objects?key=${encodeURIComponent(key)}`;
    const request = open(this.berth.baseUrl, 'PUT', path, { ...this.auth(), ...headers });
    request.flushHeaders();
    return { request, answer: answerTo(request) };
  }

  async summary(): Promise<{ usedBytes: number; limitBytes: number; objects: number; buckets: number }> {
    return (await this.account.api.get('/storage/summary')).expect(200).body as never;
  }

  private auth(): Record<string, string> {
    return { authorization: `Bearer ${this.account.key}` };
  }
}

function exchange(base: string, method: string, path: string, headers: object, body?: Buffer): Promise<Got> {
  const request = open(base, method, path, { ...headers, ...(body ? { 'content-length': body.length } : {}) });
  const answer = answerTo(request);
  request.end(body);
  return answer;
}

function open(base: string, method: string, path: string, headers: object): ClientRequest {
  const { hostname, port } = new URL(base);
  return send({ hostname, port, method, path, headers: headers as Record<string, string>, agent: false });
}

function answerTo(request: ClientRequest): Promise<Got> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(chunks) }),
      );
      response.on('error', reject);
    });
  });
}

export function json(got: Got): any {
  return JSON.parse(got.bytes.toString());
}

export function expectStatus(got: Got, ...statuses: number[]): Got {
  if (statuses.includes(got.status)) return got;
  throw new Error(`answered ${got.status} instead of ${statuses.join(' or ')}: ${got.bytes.toString().slice(0, 2000)}`);
}

export function sha256(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}

/**
 * What holds whenever nothing is under way: every object has its blob with the right content, the counters are the sums, and
 * no room is kept for anything.
 */
export async function expectConsistent(berth: Berth, blobOf: (blobId: string) => Buffer | null): Promise<void> {
  const { database } = berth;
  const objects = await database.query<{ blob_id: string; sha256: string; size: string }[]>(
    'SELECT blob_id, sha256, size FROM bucket_objects',
  );
  for (const { blob_id: blobId, sha256, size } of objects) {
    const blob = blobOf(blobId);
    expect([blobId, blob?.length]).toEqual([blobId, Number(size)]);
    expect(createHash('sha256').update(blob!).digest('hex')).toBe(sha256);
  }
  const wrong = await database.query(
    `SELECT b.id FROM buckets b LEFT JOIN bucket_objects o ON o.bucket_id = b.id WHERE b.deleted_at IS NULL
      GROUP BY b.id, b.objects, b.used_bytes
     HAVING b.objects <> COUNT(o.blob_id) OR b.used_bytes <> COALESCE(SUM(o.size), 0)`,
  );
  expect(wrong).toEqual([]);
}
