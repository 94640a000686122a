import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { sessionRequired } from './auth-errors.js';
import { principalOf } from './principal.js';

/**
 * Lets a request of the panel surface pass when the panel's middleware found a live session for it. The middleware has
 * already refused all others under its prefix; the guard holds for a controller mounted elsewhere by mistake.
 */
@Injectable()
export class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const principal = principalOf(context.switchToHttp().getRequest<Request>());
    if (principal?.via !== 'session') throw sessionRequired();
    return true;
  }
}
