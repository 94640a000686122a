import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { clientAddress } from '../../../platform/http/client-address.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { AccountLinking } from './account-linking.service.js';
import { LoginAttempts } from './login-attempts.js';
import { OidcClient } from './oidc-client.js';
import { PanelSettings } from './panel-settings.js';
import { localPath } from './return-to.js';
import { ABSOLUTE_MS, endSession, startSession } from './session.middleware.js';

/** Login and logout of a browser: authorization code flow with PKCE at the identity provider. */
@Injectable()
export class PanelLogin {
  constructor(
    private readonly settings: PanelSettings,
    private readonly attempts: LoginAttempts,
    private readonly oidc: OidcClient,
    private readonly linking: AccountLinking,
    private readonly log: AppLogger,
  ) {}

  /** Remembers the attempt in the browser and returns where to send it. */
  async begin(request: Request, response: Response, returnTo: unknown): Promise<string> {
    this.requireHttps(request);
    const { url, state, nonce, verifier } = await this.oidc.begin();
    await this.attempts.begin(response, { state, nonce, verifier, returnTo: localPath(returnTo) });
    return url.href;
  }

  /** Signs the browser in and returns where it wanted to go. */
  async complete(request: Request, response: Response): Promise<string> {
    this.requireHttps(request);
    const attempt = await this.attempts.take(request, response);
    if (!attempt) {
      throw new DomainError(
        'bad_request',
        'login_failed',
        'This login has expired or began in another browser. Start again.',
      );
    }
    const proved = await this.oidc.complete(request.originalUrl.split('?').slice(1).join('?'), attempt);
    const account = await this.linking.accountOf(proved, clientAddress(request));
    await startSession(request, {
      accountId: account.id,
      generation: account.sessionGeneration,
      signedInAt: Date.now(),
      idToken: proved.idToken,
    });
    return attempt.returnTo;
  }

  /** When the present session ends at the latest. */
  expiry(request: Request): Date {
    return new Date((request.session.signedInAt ?? 0) + ABSOLUTE_MS);
  }

  /** Ends the session here; the answer is where the browser can end it at the identity provider too. */
  async end(request: Request): Promise<string | null> {
    const { idToken } = request.session;
    await endSession(request);
    try {
      return await this.oidc.endSessionUrl(idToken);
    } catch (err) {
      this.log.warn({ err }, 'The identity provider is away during a logout');
      return null;
    }
  }

  /** Over plain http a browser would drop the cookies, and the login would fail without a word. */
  private requireHttps(request: Request): void {
    if (!this.settings.secure || request.secure) return;
    const detail = 'The panel is reached over https only; a proxy in front of it must be among TRUSTED_PROXIES.';
    throw new DomainError('bad_request', 'https_required', detail);
  }
}
