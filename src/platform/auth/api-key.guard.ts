import { type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { DomainError } from '../errors/domain-error.js';
import { ApiKeyStrategy, isApiKey } from './api-key.strategy.js';
import { keyRefused } from './auth-errors.js';
import { RefusalLimiter } from './authenticators.js';

/** Lets a request of the public surface pass when it carries a valid API key; runs before its body is read. */
@Injectable()
export class ApiKeyGuard extends AuthGuard() {
  constructor(
    strategy: ApiKeyStrategy,
    private readonly refusals: RefusalLimiter,
  ) {
    super({ defaultStrategy: strategy.registeredAs });
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    try {
      return (await super.canActivate(context)) as boolean;
    } catch (error) {
      const request = context.switchToHttp().getRequest<Request>();
      if (isRefusal(error) && isGuess(request.headers.authorization ?? '')) await this.refusals.refused(request);
      throw error;
    }
  }

  override handleRequest<T>(error: Error | null, principal: T): T {
    if (error) throw error;
    if (!principal) throw keyRefused();
    return principal;
  }
}

/** A database that is away refuses nobody. */
function isRefusal(error: unknown): boolean {
  return error instanceof DomainError && error.kind === 'unauthenticated';
}

/** Only a key that was looked up and refused can be a guess; absent and malformed ones cost nothing and count nowhere. */
function isGuess(authorization: string): boolean {
  return isApiKey(authorization.slice(authorization.indexOf(' ') + 1));
}
