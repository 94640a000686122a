import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { DomainError, notFound } from '../../platform/errors/domain-error.js';
import { InternalListener } from './internal-listener.js';
import type { HostingNode } from './node.entity.js';
import { NodesService } from './nodes.service.js';

const BEARER = /^Bearer (\S{32,256})$/;

const nodes = new WeakMap<Request, HostingNode>();

/** The node that a request of the internal API comes from. */
export function nodeOf(request: Request): HostingNode {
  const node = nodes.get(request);
  if (!node) throw new Error('no node guard on this route');
  return node;
}

/** Lets nodes in, by their token and by the private listener only. */
@Injectable()
export class NodeTokenGuard implements CanActivate {
  constructor(
    private readonly service: NodesService,
    private readonly listener: InternalListener,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    if (!this.listener.carries(request)) throw notFound();
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    const node = token === undefined ? null : await this.service.byToken(token);
    if (!node) throw new DomainError('unauthenticated', 'unauthenticated', 'A valid node token is required.');
    nodes.set(request, node);
    return true;
  }
}
