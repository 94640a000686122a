import { Global, type MiddlewareConsumer, Module, type NestModule, RequestMethod } from '@nestjs/common';
import { ApiKeyStrategy } from '../../platform/auth/api-key.strategy.js';
import { ApiKeyAuthenticator, RefusalLimiter, SessionAuthenticator } from '../../platform/auth/authenticators.js';
import { PANEL_PREFIX } from '../../platform/auth/panel-api.decorator.js';
import { RouteCheck } from '../../platform/auth/route-check.js';
import { AccountsModule } from './accounts.module.js';
import { KeyAuthenticator } from './key-authenticator.js';
import { KeyLookUp } from './key-look-up.js';
import { KeyRefusals } from './key-refusals.js';
import { KeyUsage } from './key-usage.js';
import { AccountLinking } from './panel/account-linking.service.js';
import { LoginAttempts } from './panel/login-attempts.js';
import { OidcClient } from './panel/oidc-client.js';
import { PanelGate } from './panel/panel-gate.middleware.js';
import { PanelLogin } from './panel/panel-login.service.js';
import { PanelSessionAuthenticator } from './panel/panel-session.authenticator.js';
import { PanelSettings } from './panel/panel-settings.js';
import { SessionMiddleware } from './panel/session.middleware.js';

/**
 * Authentication of both surfaces, for the application that serves them: what the guards behind `@PublicApi` and
 * `@PanelApi` need, the gate before `/panel/api`, and the check that every route has declared its access. Import it once,
 * in the root module; it asks for the global modules of settings, log, database, events and Redis, and for the rate limit's.
 */
@Global()
@Module({
  imports: [AccountsModule],
  providers: [
    ApiKeyStrategy,
    KeyUsage,
    KeyLookUp,
    { provide: ApiKeyAuthenticator, useClass: KeyAuthenticator },
    { provide: RefusalLimiter, useClass: KeyRefusals },
    { provide: SessionAuthenticator, useClass: PanelSessionAuthenticator },
    PanelSettings,
    SessionMiddleware,
    LoginAttempts,
    OidcClient,
    AccountLinking,
    PanelLogin,
    RouteCheck,
  ],
  exports: [ApiKeyStrategy, RefusalLimiter, PanelLogin, AccountsModule],
})
export class ApiAuthModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(PanelGate).forRoutes({ path: `${PANEL_PREFIX}{/*path}`, method: RequestMethod.ALL });
  }
}
