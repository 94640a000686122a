import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as ask, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

/** One request on its way to the engine, as tests speak of it. */
export interface SeenRequest {
  /** The service it is about; null for what is about none. */
  subject: string | null;
  /** Method and path with the names taken out: `POST /instances`, `wait for PUT /instances/X/state start`. */
  what: string;
  /** The engine would not do it, so it has changed nothing. */
  refused?: boolean;
}

/** A moment of a request's life: it has not reached the engine yet, or the engine has done it and nobody was told. */
export interface FaultPoint {
  what: string;
  /** Which of several such requests about the same service, from 0. */
  occurrence: number;
  when: 'before' | 'after';
}

interface Trap extends FaultPoint {
  subject: string;
  seen: number;
}

/** A service's own name, or that of something made aside for it; or a machine's. */
const SERVICE = /(srv|bak|rst|old|lxc)-([0-9a-z]{26})(?:-[0-9a-z]{26})?/;

/**
 * Stands between a process of ours and the engine's Unix socket. Notes what is asked, holds chosen requests before they
 * reach the engine or after it has answered, and plays the engine that is away.
 */
export class EngineProxy {
  readonly seen: SeenRequest[] = [];
  private readonly folder = mkdtempSync(join(tmpdir(), 'berth-proxy-'));
  private readonly path = join(this.folder, 'engine.socket');
  private readonly sockets = new Set<Duplex>();
  private readonly operations = new Map<string, SeenRequest>();
  private readonly traps: Trap[] = [];
  private readonly known = new Set<string>();
  private forNewcomers: FaultPoint[] = [];
  /** Services with a request that is held, and since when. */
  private readonly held = new Map<string, number>();
  private lastMove = Date.now();
  private server: Server | undefined;

  private constructor(private readonly target: string) {}

  static async start(engineUrl: string): Promise<EngineProxy> {
    const proxy = new EngineProxy(engineUrl.replace(/^unix:/, ''));
    await proxy.back();
    return proxy;
  }

  get url(): string {
    return `unix:${this.path}`;
  }

  /** From now on nothing answers, and what was under way is cut off. */
  away(): void {
    this.server?.close();
    this.server = undefined;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Answers (again). */
  async back(): Promise<void> {
    if (this.server) return;
    rmSync(this.path, { force: true });
    const server = createServer(
      (request, response) => void this.serve(request, response).catch(() => response.destroy()),
    );
    server.requestTimeout = 0;
    server.headersTimeout = 0;
    server.keepAliveTimeout = 0;
    server.on('connection', (socket: Socket) => this.follow(socket));
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.tunnel(request, socket, head),
    );
    server.listen(this.path);
    await once(server, 'listening');
    this.server = server;
  }

  /** Holds one request about a service for good: its process is to be killed. */
  hold(subject: string, point: FaultPoint): void {
    this.traps.push({ ...point, subject, seen: 0 });
  }

  /** Holds one request each about the services that come next and were never asked about before. */
  holdNewcomers(points: FaultPoint[]): void {
    this.forNewcomers = [...points];
  }

  /** Points that were not come to yet. */
  get ahead(): FaultPoint[] {
    return [...this.traps, ...this.forNewcomers];
  }

  /** Takes away the points that were not come to. */
  takeAhead(): FaultPoint[] {
    const { ahead } = this;
    this.traps.length = 0;
    this.forNewcomers = [];
    return ahead.map(({ what, occurrence, when }) => ({ what, occurrence, when }));
  }

  holds(subject: string): boolean {
    return this.held.has(subject);
  }

  /** Milliseconds since the first of what is held was; 0 when nothing is. */
  get heldFor(): number {
    return this.held.size === 0 ? 0 : Date.now() - Math.min(...this.held.values());
  }

  /** Milliseconds since anything was asked or answered. */
  get quietFor(): number {
    return Date.now() - this.lastMove;
  }

  /** For when the process is gone that waited for the answers. */
  forgetHeld(): void {
    this.held.clear();
  }

  /** What was asked about one service, in order, from the nth request on; questions repeated while waiting count once. */
  requestsOf(subject: string, from = 0): SeenRequest[] {
    const all = this.seen.slice(from).filter((request) => request.subject === subject);
    const isFirst = (what: string, index: number) => !all.slice(0, index).some((before) => before.what === what);
    return all.filter(({ what }, index) => !what.startsWith('GET') || isFirst(what, index));
  }

  close(): void {
    this.away();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private follow(socket: Duplex): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request);
    this.lastMove = Date.now();
    const known = this.describe(request, body);
    this.seen.push(known);
    this.greet(known.subject);
    if (this.springs(known, 'before')) return;
    const { method, url: path, headers: sent } = request;
    const upstream = ask({ socketPath: this.target, agent: false, method, path, headers: sent });
    response.on('close', () => upstream.destroy());
    upstream.end(body);
    const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
    const content = await read(answer);
    this.lastMove = Date.now();
    known.refused = (answer.statusCode ?? 502) >= 400;
    this.remember(known, content);
    if (this.springs(known, 'after')) return;
    const headers = { ...answer.headers };
    delete headers['transfer-encoding'];
    response.writeHead(answer.statusCode ?? 502, { ...headers, 'content-length': content.length }).end(content);
  }

  private greet(subject: string | null): void {
    if (subject === null || this.known.has(subject)) return;
    this.known.add(subject);
    const point = this.forNewcomers.shift();
    if (point) this.hold(subject, point);
  }

  /** Springs the trap that waits for this request, if one does. */
  private springs({ subject, what }: SeenRequest, when: FaultPoint['when']): boolean {
    for (const [index, trap] of this.traps.entries()) {
      if (trap.subject !== subject || trap.what !== what || trap.when !== when) continue;
      if (trap.seen++ < trap.occurrence) continue;
      this.traps.splice(index, 1);
      this.held.set(trap.subject, Date.now());
      return true;
    }
    return false;
  }

  private describe({ method = 'GET', url = '/' }: IncomingMessage, body: Buffer): SeenRequest {
    const [path = '', query = ''] = url.replace(/^\/1\.0/, '').split('?');
    const [, operation] = /^\/operations\/([^/]+)\/wait$/.exec(path) ?? [];
    const begun = operation === undefined ? undefined : this.operations.get(operation);
    if (begun) return { subject: begun.subject, what: `wait for ${begun.what}` };
    const text = body.length < 65_536 ? body.toString() : '';
    const [, found, ulid] = SERVICE.exec(path) ?? SERVICE.exec(text) ?? [];
    const subject = ulid === undefined ? null : `${found === 'lxc' ? 'lxc' : 'srv'}-${ulid}`;
    const file = new URLSearchParams(query).get('path');
    const details = [file?.split('/').pop(), stateAction(path, text)].filter((detail) => detail !== undefined);
    return {
      subject,
      what: [
        method,
        path.replace(SERVICE, (_, kind: string) => (['srv', 'lxc'].includes(kind) ? 'X' : `${kind}-X`)),
        ...details,
      ].join(' '),
    };
  }

  private remember(request: SeenRequest, content: Buffer): void {
    const [, operation] = /"operation":"\/1\.0\/operations\/([^"?]+)/.exec(content.subarray(0, 4096).toString()) ?? [];
    if (operation !== undefined) this.operations.set(operation, request);
  }

  private tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.follow(socket);
    const upstream = connect(this.target);
    this.follow(upstream);
    const lines = request.rawHeaders.flatMap((value, index, all) =>
      index % 2 === 0 ? [`${value}: ${all[index + 1]}`] : [],
    );
    upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
    socket.on('close', () => upstream.destroy());
    upstream.on('close', () => socket.destroy());
  }
}

function stateAction(path: string, body: string): string | undefined {
  if (!path.endsWith('/state') || body === '') return undefined;
  const { action, force } = JSON.parse(body) as { action: string; force?: boolean };
  return force ? `${action} by force` : action;
}

async function read(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
