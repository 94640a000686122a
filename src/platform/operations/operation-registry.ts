import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { HANDLES_OPERATION, OperationHandler } from './operation-handler.js';

/** Finds the handler of each operation type among the worker's providers. */
@Injectable()
export class OperationRegistry implements OnModuleInit {
  private readonly handlers = new Map<string, OperationHandler>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const { instance, metatype } of this.discovery.getProviders()) {
      if (!metatype || !(instance instanceof OperationHandler)) continue;
      const type = Reflect.getMetadata(HANDLES_OPERATION, metatype) as string | undefined;
      if (type === undefined) throw new Error(`${metatype.name} does not say which operation it handles`);
      if (this.handlers.has(type)) throw new Error(`Two handlers for the operation ${type}`);
      this.handlers.set(type, instance);
    }
  }

  /** Throws for an unknown type: a newer release queued it, so it stays queued for a worker that knows it. */
  get(type: string): OperationHandler {
    const handler = this.find(type);
    if (!handler) throw new Error(`No handler for the operation ${type}`);
    return handler;
  }

  find(type: string): OperationHandler | undefined {
    return this.handlers.get(type);
  }
}
