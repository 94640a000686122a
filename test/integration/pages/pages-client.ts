import { randomBytes } from 'node:crypto';
import { Agent, request as send, type IncomingHttpHeaders } from 'node:http';
import yazl from 'yazl';
import type { Answer } from '../../support/api.js';
import type { Berth, TestAccount } from '../../support/app.js';

export interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
}

export type Files = Record<string, string | Buffer>;

/** An archive as people make them. */
export async function zip(files: Files, compress = true): Promise<Buffer> {
  const archive = new yazl.ZipFile();
  for (const [name, content] of Object.entries(files)) archive.addBuffer(Buffer.from(content), name, { compress });
  archive.end();
  const chunks: Buffer[] = [];
  for await (const chunk of archive.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export interface Site {
  id: string;
  domain: string;
}

/** A body with one file in it, as browsers send it. */
export function form(archive: Buffer, name = 'file'): { raw: Buffer; headers: Record<string, string> } {
  const boundary = `----${randomBytes(12).toString('hex')}`;
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="site.zip"\r\nContent-Type: application/zip\r\n\r\n`;
  const raw = Buffer.concat([Buffer.from(head), archive, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { raw, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } };
}

/** Sites of one account, and what readers see of them: nothing tidies a path or a host on the way. */
export class PagesClient {
  readonly agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(
    readonly berth: Berth,
    readonly account: TestAccount,
  ) {}

  async site(more: object = {}): Promise<Site> {
    const domain = `${randomBytes(6).toString('hex')}.localhost`;
    return (await this.account.api.post('/pages', { name: 'A site', domain, ...more })).expect(201).body as Site;
  }

  /** One that shows these files. */
  async shown(files: Files, more: object = {}): Promise<Site> {
    const site = await this.site(more);
    await this.deploy(site, files);
    return site;
  }

  async deploy({ id }: Pick<Site, 'id'>, files: Files | Buffer): Promise<string> {
    const archive = Buffer.isBuffer(files) ? files : await zip(files);
    return (await this.send(id, archive)).expect(201).body.deployId as string;
  }

  send(id: string, archive: Buffer): Promise<Answer> {
    return this.account.api.send('POST', `/pages/${id}/deploy`, form(archive));
  }

  rollBack(id: string, deployId: string): Promise<Answer> {
    return this.account.api.post(`/pages/${id}/rollback/${deployId}`);
  }

  /** What a reader gets. */
  get(host: string, path: string, headers: Record<string, string | string[]> = {}, method = 'GET'): Promise<Got> {
    const port = Number(this.berth.env['PAGES_HTTP_PORT']);
    return new Promise((resolve, reject) => {
      const request = send({ port, host: '127.0.0.1', path, method, agent: this.agent, headers: { host, ...headers } });
      request.on('error', reject);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          resolve({ status: response.statusCode!, headers: response.headers, bytes, text: bytes.toString() });
        });
      });
      request.end();
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
