import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { GUARDS_METADATA, METHOD_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { ApiKeyGuard } from './api-key.guard.js';
import { SCOPE, UNSCOPED } from './scope.decorator.js';
import { ScopeGuard } from './scope.guard.js';
import { SessionGuard } from './session.guard.js';

/**
 * Refuses to start an application that has a route whose access nobody declared: a scope behind a guard of its surface,
 * or `@Unscoped` with the reason.
 */
@Injectable()
export class RouteCheck implements OnModuleInit {
  constructor(private readonly modules: ModulesContainer) {}

  onModuleInit(): void {
    const controllers = [...this.modules.values()].flatMap((module) => [...module.controllers.values()]);
    const open = controllers.flatMap(({ metatype }) => undeclaredRoutes(metatype as Type));
    if (open.length > 0) throw new Error(`Routes without declared access: ${open.join(', ')}.`);
  }
}

/** The routes of one controller, inherited ones included, whose access is not declared. */
export function undeclaredRoutes(controller: Type): string[] {
  if (Reflect.hasMetadata(UNSCOPED, controller)) return [];
  const prototype = controller.prototype as Record<string, object>;
  const guards = (Reflect.getMetadata(GUARDS_METADATA, controller) ?? []) as unknown[];
  const guarded = guards.includes(ScopeGuard) && (guards.includes(ApiKeyGuard) || guards.includes(SessionGuard));
  return new MetadataScanner()
    .getAllMethodNames(prototype)
    .filter((name) => Reflect.hasMetadata(METHOD_METADATA, prototype[name]!))
    .filter((name) => !Reflect.hasMetadata(UNSCOPED, prototype[name]!))
    .filter((name) => !guarded || !Reflect.hasMetadata(SCOPE, prototype[name]!))
    .map((name) => `${controller.name}.${name}`);
}
