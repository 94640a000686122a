import { applyDecorators, Controller, UseGuards } from '@nestjs/common';
import { ApiCookieAuth, ApiTags } from '../http/openapi-annotations.js';
import { tagOf } from './public-api.decorator.js';
import { ScopeGuard } from './scope.guard.js';
import { SessionGuard } from './session.guard.js';

export const PANEL_PREFIX = 'panel/api';

/** A controller of the panel surface, under `/panel/api/<path>`: browser session. Scopes are declared, and all granted. */
export function PanelApi(path: string, tag: string = tagOf(path)): ClassDecorator {
  return applyDecorators(
    Controller(path ? `${PANEL_PREFIX}/${path}` : PANEL_PREFIX),
    UseGuards(SessionGuard, ScopeGuard),
    ApiTags(tag),
    ApiCookieAuth('session'),
  );
}
