import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ClientAddresses } from '../../platform/http/client-address.js';
import { endServer } from '../../platform/http/end-server.js';
import { ConsoleClient, type ClientParts } from './console-client.js';

export interface ConsoleListener {
  host: string;
  port: number;
  /** Origins of the web pages that may open a console; programs send none. */
  origins: readonly string[];
  addresses: ClientAddresses;
}

const PATH = /^\/api\/servers\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/ws$/;
const MAX_SOCKETS = 30;
const MAX_FRAME = 4096;
const PING_MS = 30_000;

/** Where clients open consoles: `/api/servers/<uuid>/ws`, as they know it from Wings. */
export class ConsoleServer {
  private readonly http = createServer((_request, response) => {
    response.writeHead(426, { upgrade: 'websocket', 'content-type': 'text/plain' }).end('Consoles are WebSockets.\n');
  });
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME, perMessageDeflate: false });
  private readonly counts = new Map<string, number>();
  private readonly alive = new WeakSet<WebSocket>();
  private pinging: NodeJS.Timeout | undefined;

  constructor(
    private readonly listener: ConsoleListener,
    private readonly parts: ClientParts,
  ) {
    this.http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      const uuid = PATH.exec(request.url?.split('?')[0] ?? '')?.[1];
      if (uuid === undefined) return refuse(socket, 404, 'Not Found');
      if (!this.isAllowed(request.headers.origin)) return refuse(socket, 403, 'Forbidden');
      if ((this.counts.get(uuid) ?? 0) >= MAX_SOCKETS) return refuse(socket, 429, 'Too Many Requests');
      this.sockets.handleUpgrade(request, socket, head, (client) => this.welcome(client, request, socket, uuid));
    });
  }

  async open(): Promise<number> {
    this.http.listen(this.listener.port, this.listener.host);
    await once(this.http, 'listening');
    this.pinging = setInterval(() => this.ping(), PING_MS);
    return (this.http.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    clearInterval(this.pinging);
    const closed = endServer(this.http);
    for (const client of this.sockets.clients) client.close(1001, 'the node goes down');
    setTimeout(() => {
      for (const client of this.sockets.clients) client.terminate();
    }, 500);
    await closed;
  }

  private welcome(client: WebSocket, request: IncomingMessage, socket: Socket, uuid: string): void {
    socket.setNoDelay(true);
    this.counts.set(uuid, (this.counts.get(uuid) ?? 0) + 1);
    this.alive.add(client);
    client.on('pong', () => this.alive.add(client));
    client.on('close', () => {
      const left = this.counts.get(uuid)! - 1;
      if (left === 0) this.counts.delete(uuid);
      else this.counts.set(uuid, left);
    });
    new ConsoleClient(client, socket, uuid, this.listener.addresses.of(request), this.parts);
  }

  private isAllowed(origin: string | undefined): boolean {
    return origin === undefined || this.listener.origins.includes(origin);
  }

  private ping(): void {
    for (const client of this.sockets.clients) {
      if (!this.alive.delete(client)) client.terminate();
      else client.ping();
    }
  }
}

function refuse(socket: Socket, status: number, reason: string): void {
  socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
