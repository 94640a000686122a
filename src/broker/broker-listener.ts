import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { endServer } from '../platform/http/end-server.js';

const MAX_HEADER_BYTES = 8192;
const MAX_PER_SOURCE = 8;
const HEADERS_MS = 5000;
const REQUEST_MS = 10_000;
const KEEP_ALIVE_MS = 5000;
/** Silence of a connection that ends it; also of a client that does not take its answer. */
const SILENT_MS = 15_000;

/** The broker's sockets. One source holds few of them, and for as long only as it uses them. */
export class BrokerListener {
  private readonly server: Server;
  private readonly bySource = new Map<string, Set<Socket>>();

  constructor(handler: RequestListener) {
    this.server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, connectionsCheckingInterval: 1000, keepAlive: true },
      handler,
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
    for (const socket of this.bySource.get(address) ?? []) socket.destroy();
  }

  /** Answers what is under way, then ends. */
  async close(): Promise<void> {
    await endServer(this.server);
  }

  private take(socket: Socket): void {
    const source = socket.remoteAddress;
    const sockets = source === undefined ? undefined : (this.bySource.get(source) ?? new Set());
    if (source === undefined || sockets === undefined || sockets.size >= MAX_PER_SOURCE) {
      socket.destroy();
      return;
    }
    this.bySource.set(source, sockets.add(socket));
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) this.bySource.delete(source);
    });
  }
}
