import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '../http/openapi-annotations.js';
import type { ApiScope } from './principal.js';

export const SCOPE = 'berth:scope';
export const UNSCOPED = 'berth:unscoped';

/** The scope a route asks of its caller. Every route of both surfaces carries one, or the process does not start. */
export function Scope(scope: ApiScope): MethodDecorator {
  return applyDecorators(SetMetadata(SCOPE, scope), ApiExtension('x-required-scope', scope));
}

/**
 * Marks a route, or all of a controller, that stands outside keys, sessions and scopes (login, health, public objects,
 * doors with a credential of their own). `reason` is for the reader.
 */
export function Unscoped(reason: string): MethodDecorator & ClassDecorator {
  return SetMetadata(UNSCOPED, reason);
}
