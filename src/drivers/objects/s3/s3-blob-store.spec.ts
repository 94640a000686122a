import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { until } from '../../../../test/support/until.js';
import { S3BlobStore } from './s3-blob-store.js';

const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' };
const before = { ...process.env };
beforeAll(() => Object.assign(process.env, CREDENTIALS));
afterAll(() => {
  for (const name of Object.keys(CREDENTIALS)) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
});

let server: Server;

async function storeAt(listener: RequestListener): Promise<S3BlobStore> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new S3BlobStore({ bucket: 'blobs', prefix: 'p/', region: 'us-east-1', endpoint });
}

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

test('however many read slowly, others write', async () => {
  const store = await storeAt((request, response) => {
    // What is read never comes to its end.
    if (request.method === 'GET') response.writeHead(200, { 'Content-Length': 1000 }).write('x');
    else request.resume().on('end', () => response.writeHead(200, { ETag: '"x"' }).end());
  });
  const id = store.newId();
  const readers = await Promise.all(Array.from({ length: 500 }, () => store.open(id, { start: 0, end: 999 })));
  expect(await store.put(id, Readable.from([Buffer.from('abc')]))).toMatchObject({ size: 3 });
  await store.delete(id, { whole: true });
  await Promise.all(readers.map((reader) => reader.close()));
});

/** Knows of uploads in parts what the test server for S3 does not: which are under way. It tells of one at a time. */
class Parts {
  readonly uploads: { key: string; id: string }[] = [];
  readonly requests: string[] = [];
  parts = 0;

  readonly listener: RequestListener = (request, response) => {
    const { pathname, searchParams: asked } = new URL(request.url!, 'http://x');
    const key = pathname.replace('/blobs/', '');
    const id = asked.get('uploadId');
    this.requests.push(`${request.method} ${asked.has('uploads') ? 'uploads' : id === null ? 'object' : 'part'}`);
    const answer = (body = ''): void => void response.writeHead(200, { ETag: '"x"' }).end(body);
    request.resume().on('end', () => {
      if (asked.has('uploads') && request.method === 'POST') {
        const upload = { key, id: `${this.uploads.length + 1}` };
        this.uploads.push(upload);
        answer(`<InitiateMultipartUploadResult><UploadId>${upload.id}</UploadId></InitiateMultipartUploadResult>`);
      } else if (asked.has('uploads')) {
        answer(this.list(asked.get('prefix')!, asked.get('upload-id-marker') ?? ''));
      } else if (id !== null && request.method === 'DELETE') {
        const at = this.uploads.findIndex((upload) => upload.id === id);
        if (at !== -1) this.uploads.splice(at, 1);
        answer();
      } else {
        if (id !== null) this.parts++;
        answer('<ListBucketResult></ListBucketResult>');
      }
    });
  };

  private list(prefix: string, after: string): string {
    const left = this.uploads.filter(({ key, id }) => key.startsWith(prefix) && id > after);
    const one = left.slice(0, 1).map(({ key, id }) => {
      const initiated = '<Initiated>2020-01-01T00:00:00.000Z</Initiated>';
      return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId>${initiated}</Upload>`;
    });
    const more = `<IsTruncated>${left.length > 1}</IsTruncated><NextUploadIdMarker>${left[0]?.id}</NextUploadIdMarker>`;
    return `<ListMultipartUploadsResult>${one.join('')}${more}</ListMultipartUploadsResult>`;
  }
}

describe('what a writer has left that ended in the middle of it', () => {
  const parts = new Parts();
  let store: S3BlobStore;
  const [left, other] = ['a'.repeat(32), 'b'.repeat(32)];

  beforeEach(async () => {
    store = await storeAt(parts.listener);
    parts.uploads.length = 0;
    parts.requests.length = 0;
    for (const blobId of [left, other, left]) {
      const before = parts.parts;
      // As when its thread was ended: it neither goes on nor fails.
      const source = async function* (): AsyncGenerator<Buffer> {
        yield Buffer.alloc(9 * 1024 * 1024);
        await new Promise(() => undefined);
      };
      void store.put(blobId, source());
      await until('a part is there', () => parts.parts > before);
    }
    parts.requests.length = 0;
  });

  test('goes with the blob, and nothing else does', async () => {
    await store.delete(left);
    expect(parts.uploads.map(({ key }) => key)).toEqual([`p/${other}`]);
  });

  test('is listed, so that somebody removes it', async () => {
    const found = [];
    for await (const entry of store.list()) found.push(entry);
    const modifiedAt = new Date('2020-01-01T00:00:00.000Z');
    expect(found).toEqual([left, other, left].map((blobId) => ({ blobId, modifiedAt })));
  });

  test('is not looked for where a blob was put to its end', async () => {
    await store.delete(left, { whole: true });
    expect(parts.requests).toEqual(['DELETE object']);
  });
});

test.each([
  ['NotImplemented', 501],
  ['AccessDenied', 403],
])(
  'a store that says %s when it is asked for what is unfinished has its blobs removed all the same',
  async (code, status) => {
    const removed: string[] = [];
    const store = await storeAt((request, response) => {
      if (request.method === 'DELETE') removed.push(request.url!);
      if (request.method === 'DELETE') response.writeHead(204).end();
      else response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
    });
    await store.delete('a'.repeat(32));
    expect(removed).toHaveLength(1);
  },
);
