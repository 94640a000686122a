import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
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
  await store.delete(id);
  await Promise.all(readers.map((reader) => reader.close()));
});
