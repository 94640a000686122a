import { applyDecorators, Controller, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '../http/openapi-annotations.js';
import { ApiKeyGuard } from './api-key.guard.js';
import { ScopeGuard } from './scope.guard.js';

export const PUBLIC_PREFIX = 'api/v1';

/** A controller of the public surface, under `/api/v1/<path>`: API key, then scope. */
export function PublicApi(path: string, tag: string = tagOf(path)): ClassDecorator {
  return applyDecorators(
    Controller(path ? `${PUBLIC_PREFIX}/${path}` : PUBLIC_PREFIX),
    UseGuards(ApiKeyGuard, ScopeGuard),
    ApiTags(tag),
    ApiBearerAuth('apiKey'),
  );
}

/** The first segment of a path names its group in the document. */
export function tagOf(path: string): string {
  return path.split('/')[0] || 'account';
}
