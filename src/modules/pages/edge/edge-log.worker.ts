import { EventEmitter, once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Edge } from '../../../drivers/edge/edge.js';

const MAX_LINE = 64 * 1024;

/** Hears what the edge tells: for whom it could get no certificate, and why. */
export class EdgeLog {
  private readonly failures = new EventEmitter().setMaxListeners(0);
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;

  constructor(private readonly edge: Edge) {}

  get listens(): boolean {
    return this.server?.listening ?? false;
  }

  /** False where another process of this machine hears it. */
  async listen(port: number): Promise<boolean> {
    const server = createServer((socket) => this.hear(socket));
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
      throw error;
    }
    this.server = server;
    return true;
  }

  /** Why the host got no certificate, once that is told; null when `signal` is aborted before. */
  async failureOf(host: string, signal: AbortSignal): Promise<string | null> {
    try {
      const [reason] = (await once(this.failures, `:${host}`, { signal })) as [string];
      return reason;
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  async close(): Promise<void> {
    const { server } = this;
    if (!server) return;
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    this.server = undefined;
  }

  private hear(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    createInterface({ input: socket }).on('line', (line) => {
      const failure = line.length > MAX_LINE ? null : this.edge.failureIn(line);
      if (failure) this.failures.emit(`:${failure.host}`, failure.reason);
    });
  }
}
