import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { Request, Response } from 'express';
import { from, lastValueFrom, map, switchMap, type Observable } from 'rxjs';
import { principalOf } from '../auth/principal.js';
import { BODY_LIMIT, DEFAULT_BOUNDS, STREAM_BODY, type BodyBounds } from './body.decorators.js';
import { DomainError } from '../errors/domain-error.js';
import { expectedBytes } from './body.js';
import { clientAddress } from './client-address.js';
import { Idempotency, IDEMPOTENCY_HEADER, NOT_IDEMPOTENT } from './idempotency.js';
import { drainBody, limitBody } from './paced-body.js';
import { readJsonBody } from './kept-body.js';
import { MemoryRoom } from './memory-room.js';
import { linkNextPage, Page } from './page.js';
import { unknownField, validationFailed } from './validation.js';

const MIB = 1024 * 1024;
const UNBOUNDED: BodyBounds = { bytes: Infinity, values: Infinity };

type Handler = ReturnType<ExecutionContext['getHandler']>;

interface RouteBody {
  bounds: BodyBounds;
  stream: boolean;
  /** Whether the handler has a `@Body()`, whose pipe knows the fields. Without one no field is known. */
  declared: boolean;
  idempotent: boolean;
}

/**
 * What happens between the guards and the handler. One interceptor for all of it, as each one costs every request: the body
 * is read here, so never for a request the guards refuse; then the Idempotency-Key; validation and handler come last.
 */
@Injectable()
export class RequestInterceptor implements NestInterceptor {
  private readonly routes = new WeakMap<Handler, RouteBody>();
  private readonly room = new MemoryRoom({ ofOne: 64 * MIB, ofAll: 192 * MIB });

  constructor(private readonly idempotency: Idempotency) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const { method } = request;
    if (method === 'POST' || method === 'PUT' || method === 'PATCH') {
      return from(this.prepare(context, request, http.getResponse(), next)).pipe(switchMap((run) => run));
    }
    return next.handle().pipe(map((result) => send(result, request, http)));
  }

  private async prepare(
    context: ExecutionContext,
    request: Request,
    response: Response,
    next: CallHandler,
  ): Promise<Observable<unknown>> {
    const route = this.route(context);
    const principal = principalOf(request);
    if (route.stream) limitBody(request, route.bounds.bytes);
    else {
      const bytes = expectedBytes(request, route.bounds.bytes);
      if (bytes > 0) this.takeRoom(principal?.accountId ?? clientAddress(request), bytes, response);
      request.body = await readJsonBody(request, route.bounds);
    }
    const keyed = request.method === 'POST' && request.headers[IDEMPOTENCY_HEADER] !== undefined;
    const handle = (): Observable<unknown> => {
      if (!route.declared && !route.stream) refuseFields(request.body as object);
      return next.handle();
    };
    if (!keyed || !route.idempotent || !principal) return handle();
    const drain = route.stream ? () => drainBody(request) : undefined;
    return from(this.idempotency.run(request, response, principal.accountId, () => lastValueFrom(handle()), drain));
  }

  /** What is made of a body stays until the request has been answered. */
  private takeRoom(name: string, bytes: number, response: Response): void {
    const give = this.room.take(name, bytes, tooManyBodies);
    if (response.closed) give();
    else response.once('close', give);
  }

  private route(context: ExecutionContext): RouteBody {
    const handler = context.getHandler();
    let route = this.routes.get(handler);
    if (!route) {
      const stream = Reflect.hasMetadata(STREAM_BODY, handler);
      const bounds = Reflect.getMetadata(BODY_LIMIT, handler) as BodyBounds | undefined;
      route = {
        bounds: bounds ?? (stream ? UNBOUNDED : DEFAULT_BOUNDS),
        stream,
        declared: hasBody(context.getClass(), handler.name),
        idempotent: !Reflect.hasMetadata(NOT_IDEMPOTENT, handler),
      };
      this.routes.set(handler, route);
    }
    return route;
  }
}

function tooManyBodies(): DomainError {
  const detail = 'Too many large request bodies are under way at once.';
  return new DomainError('rate_limited', 'too_many_bodies', detail, { retryAfterSeconds: 5 });
}

function hasBody(controller: object, method: string): boolean {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as object;
  return Object.keys(parameters).some((parameter) => parameter.startsWith(`${RouteParamtypes.BODY}:`));
}

function refuseFields(body: object): void {
  const names = Object.keys(body);
  if (names.length > 0) throw validationFailed(names.map((name) => unknownField([name])));
}

function send(result: unknown, request: Request, http: { getResponse<T>(): T }): unknown {
  if (!(result instanceof Page)) return result;
  linkNextPage(request, http.getResponse<Response>(), result);
  return result.items;
}
