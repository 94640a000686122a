import { Injectable } from '@nestjs/common';
import * as oidc from 'openid-client';
import { Config, ConfigError } from '../../../config/config.js';
import { DomainError, unavailable } from '../../../platform/errors/domain-error.js';
import { PanelSettings } from './panel-settings.js';

/** Signatures an ID token may carry; never `none`, never one that is made with the client secret. */
const SIGNATURES = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const TIMEOUT_SECONDS = 5;
const FRESH_MS = 3_600_000;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Who the identity provider says has logged in. */
export interface ProvedIdentity {
  issuer: string;
  subject: string;
  /** Null unless the provider vouches for it. */
  verifiedEmail: string | null;
  preferredUsername: string | undefined;
  idToken: string;
}

/** The identity provider. It is asked for its settings at the first login, so it may be away while the process starts. */
@Injectable()
export class OidcClient {
  private readonly issuer: URL | undefined;
  private known: { at: number; configuration: oidc.Configuration } | undefined;
  private asking: Promise<oidc.Configuration> | undefined;

  constructor(
    private readonly config: Config,
    private readonly settings: PanelSettings,
  ) {
    if (config.oidcIssuer === undefined) return;
    this.issuer = new URL(config.oidcIssuer);
    if (this.issuer.protocol === 'http:' && !LOOPBACK.has(this.issuer.hostname)) {
      throw new ConfigError('Settings: OIDC_ISSUER must start with https:// unless it is on this machine.');
    }
    config.require('oidcClientId');
  }

  /** Where to send the browser, and what to remember for when it comes back. */
  async begin(): Promise<{ url: URL; state: string; nonce: string; verifier: string }> {
    const configuration = await this.configuration();
    const state = oidc.randomState();
    const nonce = oidc.randomNonce();
    const verifier = oidc.randomPKCECodeVerifier();
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.settings.callbackUrl,
      scope: 'openid email profile',
      response_type: 'code',
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url, state, nonce, verifier };
  }

  /**
   * Checks the provider's answer and exchanges its code. `query` is the callback's query string as it came. State, nonce,
   * PKCE, the answer's issuer (RFC 9207) and the ID token's issuer, audience, times and signature must all be right.
   */
  async complete(query: string, attempt: { state: string; nonce: string; verifier: string }): Promise<ProvedIdentity> {
    const configuration = await this.configuration();
    try {
      const tokens = await oidc.authorizationCodeGrant(
        configuration,
        new URL(`${this.settings.callbackUrl}?${query}`),
        {
          expectedState: attempt.state,
          expectedNonce: attempt.nonce,
          pkceCodeVerifier: attempt.verifier,
          idTokenExpected: true,
        },
      );
      const claims = tokens.claims()!;
      const profile =
        claims.email === undefined ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : claims;
      return {
        issuer: claims.iss,
        subject: claims.sub,
        verifiedEmail: profile.email_verified === true && typeof profile.email === 'string' ? profile.email : null,
        preferredUsername: typeof profile.preferred_username === 'string' ? profile.preferred_username : undefined,
        idToken: tokens.id_token!,
      };
    } catch (error) {
      if (isAway(error)) throw unavailable('identity_provider', error);
      throw new DomainError('bad_request', 'login_failed', 'The login could not be verified. Start again.', {
        cause: error,
      });
    }
  }

  /** Where the browser ends its session at the provider; null where the provider has no such place. */
  async endSessionUrl(idToken: string | undefined): Promise<string | null> {
    const configuration = await this.configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
    return oidc.buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: this.settings.panelUrl,
      ...(idToken === undefined ? {} : { id_token_hint: idToken }),
    }).href;
  }

  /** The provider's settings, asked for again every hour; while it is away the last known are used. */
  private async configuration(): Promise<oidc.Configuration> {
    if (this.known && Date.now() - this.known.at < FRESH_MS) return this.known.configuration;
    this.asking ??= this.discover().finally(() => (this.asking = undefined));
    try {
      return await this.asking;
    } catch (error) {
      if (this.known) return this.known.configuration;
      throw unavailable('identity_provider', error);
    }
  }

  private async discover(): Promise<oidc.Configuration> {
    if (!this.issuer) throw new Error('No OIDC_ISSUER is set.');
    const clientId = this.config.require('oidcClientId');
    const { oidcClientSecret: secret } = this.config;
    const authentication = secret === undefined ? oidc.None() : oidc.ClientSecretBasic(secret);
    const execute = this.issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
    const found = await oidc.discovery(this.issuer, clientId, undefined, authentication, {
      execute,
      timeout: TIMEOUT_SECONDS,
    });
    const metadata: oidc.ServerMetadata = found.serverMetadata();
    const offered = metadata.id_token_signing_alg_values_supported ?? ['RS256'];
    const configuration = new oidc.Configuration(
      { ...metadata, id_token_signing_alg_values_supported: offered.filter((name) => SIGNATURES.includes(name)) },
      clientId,
      secret,
      authentication,
    );
    configuration.timeout = TIMEOUT_SECONDS;
    for (const prepare of [...execute, oidc.enableNonRepudiationChecks]) prepare(configuration);
    this.known = { at: Date.now(), configuration };
    return configuration;
  }
}

/** Whether an error means that the provider did not answer, or not with what it was asked for. */
function isAway(error: unknown): boolean {
  const { code, name, cause } = (error ?? {}) as { code?: string; name?: string; cause?: { status?: number } };
  if (name === 'TypeError' && code === undefined) return true; // fetch could not connect
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return true;
  return code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' && (cause?.status ?? 0) >= 500;
}
