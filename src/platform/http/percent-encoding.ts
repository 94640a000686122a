import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';
import { badField } from '../errors/domain-error.js';

/** The text that a part of an address stands for, decoded once; null when that is no UTF-8. */
export function decodeExactly(encoded: string): string | null {
  if (/[^\x21-\x7e]/.test(encoded)) return null;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/**
 * For routes whose query names things: refuses one that is not UTF-8 in percent-encoding, where the usual reading would put
 * something else in its place and two names could become one.
 */
@Injectable()
export class ExactQuery implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { originalUrl } = context.switchToHttp().getRequest<Request>();
    const at = originalUrl.indexOf('?');
    for (const pair of at === -1 ? [] : originalUrl.slice(at + 1).split('&')) {
      if (decodeExactly(pair) !== null) continue;
      const name = pair
        .split('=', 1)[0]!
        .replace(/[^\w.-]/g, '?')
        .slice(0, 64);
      throw badField(name, 'malformed_text', `${name} must be UTF-8 in percent-encoding`);
    }
    return next.handle();
  }
}
