import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { UnderWay } from '../../platform/batching/under-way.js';
import { addressBucket, type ClientAddresses } from '../../platform/http/client-address.js';
import { endServer } from '../../platform/http/end-server.js';
import { openConsoleToken } from '../../platform/internal-api/console-token.js';
import { AUTH_MS, ConsoleClient, type ClientParts } from './console-client.js';

export interface ConsoleListener {
  host: string;
  port: number;
  /** Origins of the web pages that may open a console; programs send none. */
  origins: readonly string[];
  addresses: ClientAddresses;
}

const PATH = /^\/api\/servers\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/ws$/;
/** Of one service, of clients that have shown a token. */
const MAX_SOCKETS = 30;
/** Of clients that have not shown one yet, of one address. */
const STRANGERS_OF_ADDRESS = 32;
/** Connections of all who have not shown one yet, those included that have said nothing at all. */
const STRANGERS = 512;
/** More than that is no use of a node, and costs it memory and file descriptors. */
const CONNECTIONS = 4096;
const MAX_FRAME = 4096;
const PING_MS = 30_000;
/** What is given to whoever is not let in, to take the refusal. */
const REFUSE_MS = 2000;

/** Where clients open consoles: `/api/servers/<uuid>/ws`, as they know it from Wings. */
export class ConsoleServer {
  private readonly http = createServer(
    { headersTimeout: AUTH_MS, requestTimeout: AUTH_MS, connectionsCheckingInterval: AUTH_MS / 5 },
    (_request, response) => {
      response.writeHead(426, { upgrade: 'websocket', 'content-type': 'text/plain' }).end('Consoles are WebSockets.\n');
    },
  );
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME, perMessageDeflate: false });
  /** Sockets of clients that have shown a token, by service. */
  private readonly guests = new UnderWay();
  /** Those of all others, by address. */
  private readonly strangersOf = new UnderWay();
  /** Connections that have shown none, the oldest first. */
  private readonly strangers = new Set<Socket>();
  private readonly alive = new WeakSet<WebSocket>();
  private pinging: NodeJS.Timeout | undefined;

  constructor(
    private readonly listener: ConsoleListener,
    private readonly parts: ClientParts,
  ) {
    this.http.maxConnections = CONNECTIONS;
    this.http.on('connection', (socket) => this.take(socket));
    this.http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      // The limits of the HTTP server do not reach further than here.
      const cutOff = setTimeout(() => socket.destroy(), REFUSE_MS);
      socket.once('close', () => clearTimeout(cutOff));
      const uuid = PATH.exec(request.url?.split('?')[0] ?? '')?.[1];
      if (uuid === undefined) return refuse(socket, 404, 'Not Found');
      if (!this.isAllowed(request.headers.origin)) return refuse(socket, 403, 'Forbidden');
      void this.receive(request, socket, head, uuid, () => clearTimeout(cutOff));
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

  /** Strangers make room for strangers: however many there are, they keep nobody out who comes with a token. */
  private take(socket: Socket): void {
    for (const oldest of this.strangers) {
      if (this.strangers.size < STRANGERS) break;
      this.strangers.delete(oldest);
      oldest.destroy();
    }
    this.strangers.add(socket);
    socket.once('close', () => this.strangers.delete(socket));
  }

  private async receive(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    uuid: string,
    onUpgrade: () => void,
  ): Promise<void> {
    const address = this.listener.addresses.of(request);
    const bucket = addressBucket(address);
    const { authorization } = request.headers;
    const isKnown = authorization !== undefined && (await this.opens(authorization, uuid));
    const isFull = isKnown ? this.isTaken(uuid) : this.strangersOf.of(bucket) >= STRANGERS_OF_ADDRESS;
    if (isFull) return refuse(socket, 429, 'Too Many Requests', `Retry-After: ${AUTH_MS / 1000}\r\n`);
    this.sockets.handleUpgrade(request, socket, head, (client) => {
      onUpgrade();
      let leave = isKnown ? this.guests.begin(uuid) : this.strangersOf.begin(bucket);
      if (isKnown) this.strangers.delete(socket);
      client.on('close', () => leave());
      const takePlace = (): boolean => {
        if (isKnown) return true;
        if (this.isTaken(uuid)) return false;
        leave();
        leave = this.guests.begin(uuid);
        this.strangers.delete(socket);
        return true;
      };
      socket.setNoDelay(true);
      this.alive.add(client);
      client.on('pong', () => this.alive.add(client));
      new ConsoleClient(client, socket, uuid, address, this.parts, takePlace);
    });
  }

  /**
   * Whether a client shows a token right away, as the platform itself does: it says much at the same moment, and all of it
   * comes from the same address.
   */
  private async opens(authorization: string, uuid: string): Promise<boolean> {
    const key = this.parts.key();
    const token = /^Bearer (\S+)$/.exec(authorization)?.[1];
    if (!key || token === undefined) return false;
    return openConsoleToken(key, token).then(
      ({ serverUuid }) => serverUuid === uuid,
      () => false,
    );
  }

  private isTaken(uuid: string): boolean {
    return this.guests.of(uuid) >= MAX_SOCKETS;
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

function refuse(socket: Socket, status: number, reason: string, header = ''): void {
  // The client may keep its own side open for as long as it likes.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\n${header}Content-Length: 0\r\n\r\n`);
}
