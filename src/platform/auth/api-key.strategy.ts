import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { clientAddress } from '../http/client-address.js';
import { ApiKeyAuthenticator } from './authenticators.js';
import type { Principal } from './principal.js';

const KEY = /^svc_[0-9a-f]{48}$/;

/** What passport-http-bearer may see of a request: it would also take a token from the body or the query. */
interface HeaderOnly {
  headers: { authorization?: string };
  original: Request;
}

let made = 0;

/** `Authorization: Bearer svc_...`, and nothing else, is a credential of the public surface. */
@Injectable()
export class ApiKeyStrategy extends PassportStrategy(Strategy, 'api-key') implements OnApplicationShutdown {
  /**
   * Passport's registry is one per process, the applications in it may be several: each has its own entry. (Handing
   * Passport the strategy itself instead of a name is no way out: it would share one between requests, and mix them up.)
   */
  readonly registeredAs = `api-key-${++made}`;

  /** Whose keys are being looked up already. */
  private readonly begun = new WeakMap<Request, Promise<Principal | null>>();

  constructor(private readonly keys: ApiKeyAuthenticator) {
    super({ passReqToCallback: true });
    passport.use(this.registeredAs, this);
  }

  onApplicationShutdown(): void {
    passport.unuse(this.registeredAs);
  }

  override authenticate(request: Request): void {
    const { authorization } = request.headers;
    const facade: HeaderOnly = { headers: authorization ? { authorization } : {}, original: request };
    super.authenticate(facade as unknown as Request);
  }

  /** Looks the key of a request up before its guard asks for it. */
  anticipate(request: Request): void {
    const [scheme, token = '', ...more] = (request.headers.authorization ?? '').split(' ');
    if (scheme?.toLowerCase() !== 'bearer' || !isApiKey(token) || more.length > 0) return;
    const found = this.keys.authenticate(token, clientAddress(request));
    // Who asks for it hears of it.
    found.catch(() => undefined);
    this.begun.set(request, found);
  }

  /** Called by Passport once the header held a Bearer token. */
  async validate(facade: HeaderOnly, token: string): Promise<Principal | false> {
    if (!isApiKey(token)) return false;
    const { original } = facade;
    return (await (this.begun.get(original) ?? this.keys.authenticate(token, clientAddress(original)))) ?? false;
  }
}

/** Whether a token has the shape of an API key; anything else is refused without a look-up. */
export function isApiKey(token: string): boolean {
  return KEY.test(token);
}
