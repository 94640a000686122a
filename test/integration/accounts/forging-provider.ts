import { createHmac, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Browser } from '../../support/browser.js';
import { freePort } from '../../support/free-ports.js';

type Claims = Record<string, unknown>;

/** What the provider does otherwise than an honest one. */
export interface Forgery {
  /** Changes the ID token's claims. */
  claims?: (honest: Claims) => Claims;
  /** Changes the ID token's header. */
  header?: Claims;
  /** Signs in another way than with the published key. */
  sign?: 'none' | 'stranger' | 'client-secret' | 'broken';
  /** Answers the token request with this status. */
  tokenStatus?: number;
  /** Changes the parameters of the answer at the callback. */
  answer?: (honest: URLSearchParams) => void;
}

/** An identity provider that keeps to the protocol, but for the forgery it is told. */
export class ForgingProvider {
  forgery: Forgery = {};
  identity: Claims = {
    sub: 'forged',
    email: 'forged@example.test',
    email_verified: true,
    preferred_username: 'forged',
  };
  /** What the last token request sent. */
  lastTokenRequest = new URLSearchParams();
  private nonce = '';
  private readonly key = generateKeyPairSync('rsa', { modulusLength: 2048 });
  private readonly stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

  private constructor(
    readonly port: number,
    private readonly server: Server,
  ) {
    server.on('request', (request, response) => {
      void this.answer(request).then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
    });
  }

  static async start(port?: number): Promise<ForgingProvider> {
    const provider = new ForgingProvider(port ?? (await freePort()), createServer());
    await new Promise<void>((resolve) => provider.server.listen(provider.port, '127.0.0.1', resolve));
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get settings(): Record<string, string> {
    return { OIDC_ISSUER: this.issuer, OIDC_CLIENT_ID: 'panel', OIDC_CLIENT_SECRET: 'a-secret-of-the-test-client' };
  }

  /** Takes a browser through a login, as far as the answer of the callback. */
  async login(browser: Browser, app: string, returnTo = '/panel', publicUrl = app): Promise<Response> {
    const begun = await browser.send(`${app}/panel/api/auth/login?returnTo=${encodeURIComponent(returnTo)}`);
    if (begun.status !== 302) return begun;
    return browser.send(this.callback(begun, app, publicUrl));
  }

  /** The address an honest provider, or this one, would send the browser to. */
  callback(begun: Response, app: string, publicUrl = app): string {
    const asked = new URL(begun.headers.get('location')!).searchParams;
    this.nonce = asked.get('nonce')!;
    const answer = new URLSearchParams({ code: 'a-code', state: asked.get('state')!, iss: this.issuer });
    this.forgery.answer?.(answer);
    return `${asked.get('redirect_uri')!.replace(publicUrl, app)}?${answer.toString()}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    switch (new URL(request.url!, this.issuer).pathname) {
      case '/.well-known/openid-configuration':
        return { status: 200, body: this.metadata() };
      case '/jwks':
        return {
          status: 200,
          body: { keys: [{ ...this.key.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }] },
        };
      case '/token': {
        let text = '';
        for await (const chunk of request) text += String(chunk);
        this.lastTokenRequest = new URLSearchParams(text);
        const status = this.forgery.tokenStatus ?? 200;
        if (status !== 200) return { status, body: { error: 'invalid_grant' } };
        return {
          status,
          body: { access_token: 'token', token_type: 'Bearer', expires_in: 60, id_token: this.idToken() },
        };
      }
      default:
        return { status: 404, body: {} };
    }
  }

  private metadata(): Claims {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      // It offers what must never be taken.
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  private idToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const honest = { iss: this.issuer, aud: 'panel', iat: now, exp: now + 300, nonce: this.nonce, ...this.identity };
    const claims = this.forgery.claims?.(honest) ?? honest;
    const { sign } = this.forgery;
    const alg = sign === 'none' ? 'none' : sign === 'client-secret' ? 'HS256' : 'RS256';
    const input = `${encode({ alg, kid: 'k', typ: 'JWT', ...this.forgery.header })}.${encode(claims)}`;
    if (sign === 'none') return `${input}.`;
    if (sign === 'client-secret') {
      const mac = createHmac('sha256', this.settings['OIDC_CLIENT_SECRET']!).update(input).digest('base64url');
      return `${input}.${mac}`;
    }
    const signature = rs256(input, sign === 'stranger' ? this.stranger.privateKey : this.key.privateKey);
    return `${input}.${sign === 'broken' ? signature.split('').reverse().join('') : signature}`;
  }
}

function encode(value: Claims): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function rs256(input: string, key: KeyObject): string {
  return createSign('RSA-SHA256').update(input).sign(key).toString('base64url');
}
