import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-ports.js';

const S3RVER = join(import.meta.dirname, '..', '..', 'node_modules', '@20minutes', 's3rver', 'lib', 's3rver.js');
/** In a process of its own, as it is in life: it can be taken away at any moment. Its tokens for pages are made with DES. */
const RUN = `
const S3rver = require(process.argv[1]);
const [directory, port] = process.argv.slice(2);
const configureBuckets = [{ name: 'blobs' }, { name: 'moved' }];
const options = { directory, port: Number(port), address: '127.0.0.1', silent: true, configureBuckets };
// It reckons the signature of a request for a whole bucket in another way than the SDK does.
const server = new S3rver({ ...options, allowMismatchedSignatures: true });
server.run().then(() => {
  server.httpServer.on('request', ({ method, url }) => console.log(method, url));
  console.log('ready');
});
`;

/** A server that speaks S3, with the buckets `blobs` and `moved`. */
export class S3Server {
  private constructor(
    readonly endpoint: string,
    readonly folder: string,
    private readonly child: ChildProcess,
    /** What it was asked, a line each. */
    readonly requests: string[],
  ) {}

  static async start(): Promise<S3Server> {
    const folder = mkdtempSync(join(tmpdir(), 'berth-s3-'));
    const port = await freePort();
    const child = spawn(process.execPath, ['--openssl-legacy-provider', '--eval', RUN, S3RVER, folder, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    process.once('exit', () => child.kill('SIGKILL'));
    const requests: string[] = [];
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => requests.push(line));
    await once(lines, 'line');
    return new S3Server(`http://127.0.0.1:${port}`, folder, child, requests);
  }

  /** Settings that lead to one of its buckets. */
  env(bucket: string): Record<string, string> {
    return { OBJECT_STORE_URL: `s3://${bucket}/some/prefix`, S3_ENDPOINT: this.endpoint, ...S3_CREDENTIALS };
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What this server knows. */
export const S3_CREDENTIALS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
