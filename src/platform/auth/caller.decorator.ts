import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { keyRefused } from './auth-errors.js';
import { principalOf, type Principal } from './principal.js';

/** Injects the request's {@link Principal}. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const principal = principalOf(context.switchToHttp().getRequest<Request>());
  if (!principal) throw keyRefused();
  return principal;
});
