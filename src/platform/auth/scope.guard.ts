import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { scopeMissing } from './auth-errors.js';
import { principalOf, type ApiScope } from './principal.js';
import { SCOPE } from './scope.decorator.js';

/** Stands behind the authenticating guard of either surface. A route without a declared scope is closed. */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const required = this.reflector.get<ApiScope | undefined>(SCOPE, context.getHandler());
    const principal = principalOf(context.switchToHttp().getRequest<Request>());
    if (!required || !principal) return false;
    if (!principal.scopes.has(required)) throw scopeMissing(required);
    return true;
  }
}
