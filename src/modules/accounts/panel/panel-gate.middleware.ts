import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { sessionRequired } from '../../../platform/auth/auth-errors.js';
import { SessionAuthenticator } from '../../../platform/auth/authenticators.js';
import { PANEL_PREFIX } from '../../../platform/auth/panel-api.decorator.js';
import { setPrincipal } from '../../../platform/auth/principal.js';
import { pathOf } from '../../../platform/http/problem.js';
import { PanelSettings } from './panel-settings.js';
import { requireSameOrigin } from './same-origin.js';
import { SessionMiddleware } from './session.middleware.js';

/** The only doors of the panel's API that open without a session. */
const LOGIN = new Set([`/${PANEL_PREFIX}/auth/login`, `/${PANEL_PREFIX}/auth/callback`]);

/** Stands before everything under `/panel/api`, routes that do not exist included: same origin, then a live session. */
@Injectable()
export class PanelGate implements NestMiddleware {
  constructor(
    private readonly settings: PanelSettings,
    private readonly sessions: SessionMiddleware,
    private readonly authenticator: SessionAuthenticator,
  ) {}

  async use(request: Request, response: Response, next: NextFunction): Promise<void> {
    requireSameOrigin(request, this.settings.origin);
    await this.sessions.attach(request, response);
    if (!LOGIN.has(pathOf(request))) {
      const principal = await this.authenticator.authenticate(request);
      if (!principal) throw sessionRequired();
      setPrincipal(request, principal);
    }
    next();
  }
}
