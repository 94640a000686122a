import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FixturePage } from '../../support/seo-pages.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A web site of the tests' own on a loopback port. What is asked of it is noted. */
export class FixtureSite {
  readonly asked: string[] = [];
  private readonly server: Server;
  /** How many requests it had to answer at once, at most. */
  mostAtOnce = 0;
  private atOnce = 0;

  private constructor(public pages: Record<string, FixturePage | Handler>) {
    this.server = createServer((request, response) => this.answer(request, response));
  }

  static async start(pages: Record<string, FixturePage | Handler> = {}): Promise<FixtureSite> {
    const site = new FixtureSite(pages);
    await new Promise<void>((resolve) => site.server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** Another site from now on. */
  become(pages: Record<string, FixturePage | Handler>): this {
    this.pages = pages;
    this.asked.length = 0;
    this.mostAtOnce = 0;
    return this;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(`${request.method} ${request.url}`);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    response.on('close', () => this.atOnce--);
    const path = request.url!.split('?')[0]!;
    const named = this.pages[request.url!] ?? this.pages[path];
    if (path === '/robots.txt' && typeof named !== 'function') return this.robots(named, response);
    const page = named ?? this.pages['*'];
    if (typeof page === 'function') return page(request, response);
    if (!page) return void response.writeHead(404, { 'content-type': 'text/html' }).end('<title>Not here</title>');
    const { status = 200, headers = {}, body = '', firstByteMs = 0 } = page;
    // Names of headers are the same in any case.
    response.setHeader('content-type', 'text/html');
    const answer = (): unknown => response.writeHead(status, headers).end(body);
    if (firstByteMs > 0) setTimeout(answer, firstByteMs);
    else answer();
  }

  private robots(own: FixturePage | undefined, response: ServerResponse): void {
    const { robots = null, robotsStatus = robots === null ? 404 : 200 } = own ?? (this.pages['/'] as FixturePage) ?? {};
    response.writeHead(robotsStatus, { 'content-type': 'text/plain' }).end(robots ?? '');
  }
}
