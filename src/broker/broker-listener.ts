import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { endServer } from '../platform/http/end-server.js';
import { sendProblem, type Problem } from '../platform/http/problem.js';

const MAX_HEADER_BYTES = 8192;
/** Connections that one source may have: all workers of a program ask as they begin. */
const MAX_PER_SOURCE = 64;
/** With so many connections in all, each source is left its share. */
const MANY = 2000;
const SHARE = 8;
/** One too many is told so in this time. As many as a source may have are, the rest are cut. */
const TOLD_MS = 2000;
const HEADERS_MS = 5000;
const REQUEST_MS = 10_000;
const KEEP_ALIVE_MS = 5000;
/** Silence of a connection that ends it; also of a client that does not take its answer. */
const SILENT_MS = 15_000;

const TOO_MANY: Problem = {
  status: 429,
  code: 'too_many_connections',
  detail: 'Too many connections at the same time.',
  headers: { 'Retry-After': '1', Connection: 'close' },
};

interface Source {
  sockets: Set<Socket>;
  /** Those of them that were too many. */
  told: Set<Socket>;
}

/** The broker's sockets. One source holds few of them, and for as long only as it uses them. */
export class BrokerListener {
  private readonly server: Server;
  private readonly bySource = new Map<string, Source>();
  private open = 0;

  constructor(
    private readonly handler: RequestListener,
    private readonly many = MANY,
  ) {
    this.server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, connectionsCheckingInterval: 1000, keepAlive: true },
      (request, response) => this.answer(request, response),
    );
    this.server.headersTimeout = HEADERS_MS;
    this.server.requestTimeout = REQUEST_MS;
    this.server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.server.timeout = SILENT_MS;
    this.server.on('connection', (socket) => this.take(socket));
  }

  async listen(port: number, address: string): Promise<void> {
    this.server.listen(port, address);
    await once(this.server, 'listening');
  }

  /** Ends all connections of an address: who had it is gone. */
  cutOff(address: string): void {
    for (const socket of this.bySource.get(address)?.sockets ?? []) socket.destroy();
  }

  /** Answers what is under way, then ends. */
  async close(): Promise<void> {
    await endServer(this.server);
  }

  private take(socket: Socket): void {
    const address = socket.remoteAddress;
    if (address === undefined) {
      socket.destroy();
      return;
    }
    const source = this.bySource.get(address) ?? { sockets: new Set(), told: new Set() };
    const { sockets, told } = source;
    const allowed = this.open < this.many ? MAX_PER_SOURCE : SHARE;
    if (sockets.size - told.size >= allowed) {
      if (told.size >= allowed) {
        socket.destroy();
        return;
      }
      told.add(socket);
      const end = setTimeout(() => socket.destroy(), TOLD_MS);
      socket.once('close', () => clearTimeout(end));
    }
    this.open++;
    this.bySource.set(address, source);
    sockets.add(socket);
    socket.once('close', () => {
      this.open--;
      told.delete(socket);
      sockets.delete(socket);
      if (sockets.size === 0) this.bySource.delete(address);
    });
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const source = this.bySource.get(request.socket.remoteAddress ?? '');
    if (source?.told.has(request.socket)) sendProblem(request, response, TOO_MANY);
    else this.handler(request, response);
  }
}
