import { Injectable } from '@nestjs/common';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { notFound } from '../../platform/errors/domain-error.js';
import { endServer } from '../../platform/http/end-server.js';

const PREFIX = '/internal/';

/**
 * The private listener of the control plane, for its nodes. It shares the application with the public one; what tells them
 * apart is the connection a request came by, which no request can forge.
 */
@Injectable()
export class InternalListener {
  private readonly sockets = new WeakSet<Socket>();
  private server: Server | undefined;

  async open(application: RequestHandler, host: string, port: number): Promise<void> {
    this.server = createServer((request, response) => {
      void application(request as Request, response as Response, (() => response.destroy()) as NextFunction);
    });
    this.server.on('connection', (socket) => this.sockets.add(socket));
    this.server.listen(port, host);
    await once(this.server, 'listening');
  }

  async close(): Promise<void> {
    if (this.server) await endServer(this.server);
  }

  get port(): number {
    return (this.server?.address() as { port: number } | null)?.port ?? 0;
  }

  carries(request: Request): boolean {
    return this.sockets.has(request.socket);
  }

  /**
   * Lets nothing but the nodes' routes be reached by the private listener, and has the public one answer for them as for any
   * path that does not exist. What keeps strangers out is not this but the nodes' guard.
   */
  readonly gate: RequestHandler = (request, _response, next) => {
    const internal = request.path.toLowerCase().startsWith(PREFIX);
    next(internal === this.carries(request) ? undefined : notFound());
  };
}
