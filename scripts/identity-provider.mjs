/**
 * The identity provider of development and tests: OpenID Connect by oidc-provider with one confidential client. It
 * takes any login name with the one development password and vouches for `<name>@example.test`. Loopback only.
 */
import { createHash, generateKeyPairSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Provider from 'oidc-provider';

/** Everything is gone after a restart, but for the keys: one logs in again. */
class MemoryAdapter {
  static entries = new Map();
  static grants = new Map();

  /** @param {string} model */
  constructor(model) {
    this.model = model;
  }

  /** @param {string} id */
  key(id) {
    return `${this.model}:${id}`;
  }

  /**
   * @param {string} id
   * @param {any} payload
   * @param {number} [expiresIn]
   */
  async upsert(id, payload, expiresIn) {
    const key = this.key(id);
    MemoryAdapter.sweep();
    MemoryAdapter.entries.set(key, { payload, until: expiresIn ? Date.now() + expiresIn * 1000 : Infinity });
    if (payload.grantId) {
      const keys = MemoryAdapter.grants.get(payload.grantId) ?? new Set();
      MemoryAdapter.grants.set(payload.grantId, keys.add(key));
    }
  }

  static sweep() {
    const now = Date.now();
    for (const [key, { until }] of MemoryAdapter.entries) if (until < now) MemoryAdapter.entries.delete(key);
  }

  /** @param {string} id */
  async find(id) {
    const entry = MemoryAdapter.entries.get(this.key(id));
    return entry && entry.until > Date.now() ? entry.payload : undefined;
  }

  /** @param {string} uid */
  async findByUid(uid) {
    for (const [key, { payload }] of MemoryAdapter.entries) {
      if (key.startsWith(`${this.model}:`) && payload.uid === uid) return payload;
    }
    return undefined;
  }

  async findByUserCode() {
    return undefined;
  }

  /** @param {string} id */
  async consume(id) {
    const payload = await this.find(id);
    if (payload) payload.consumed = Math.floor(Date.now() / 1000);
  }

  /** @param {string} id */
  async destroy(id) {
    MemoryAdapter.entries.delete(this.key(id));
  }

  /** @param {string} grantId */
  async revokeByGrantId(grantId) {
    for (const key of MemoryAdapter.grants.get(grantId) ?? []) MemoryAdapter.entries.delete(key);
    MemoryAdapter.grants.delete(grantId);
  }
}

/**
 * The signing key and the cookie key, made once.
 * @param {string} folder
 */
function keysIn(folder) {
  const file = join(folder, 'identity-provider-keys.json');
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const signing = {
      ...privateKey.export({ format: 'jwk' }),
      use: 'sig',
      alg: 'RS256',
      kid: randomBytes(8).toString('hex'),
    };
    writeFileSync(file, JSON.stringify({ signing, cookie: randomBytes(32).toString('hex') }), { mode: 0o600 });
  }
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** @param {string} text */
const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/**
 * @param {string} title
 * @param {string} body
 */
function page(title, body) {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:4rem auto;padding:0 1rem}input,button{font:inherit;display:block;width:100%;box-sizing:border-box;margin:.25rem 0 1rem;padding:.5rem}</style>
</head><body><h1>${title}</h1>${body}</body></html>`;
}

/**
 * @param {string} action
 * @param {string} [problem]
 */
function loginPage(action, problem) {
  return page(
    'Development login',
    `${problem ? `<p role="alert">${escapeHtml(problem)}</p>` : ''}
<p>Any login name; the password is <code>developmentPassword</code> in <code>.berth/up.json</code>.</p>
<form method="post" action="${escapeHtml(action)}"><label>Login name<input name="login" autocomplete="username" autofocus required></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required></label><button>Log in</button></form>`,
  );
}

/**
 * @param {string} given
 * @param {string} expected
 */
function sameText(given, expected) {
  const digest = (/** @type {string} */ text) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/**
 * @param {object} options
 * @param {string} options.issuer
 * @param {string} options.clientId
 * @param {string} options.clientSecret
 * @param {string[]} options.redirectUris
 * @param {string[]} options.logoutUris where a browser may be sent after a logout
 * @param {string} options.password of every development login
 * @param {string} options.state folder for the signing key
 * @param {boolean} [options.anyLoopbackPort] take the redirect URIs at any port of 127.0.0.1, as tests choose theirs freely
 * @returns {import('node:http').Server}
 */
export function identityProvider(options) {
  const keys = keysIn(options.state);
  /** @type {any} */
  const configuration = {
    adapter: MemoryAdapter,
    clients: [
      {
        client_id: options.clientId,
        client_secret: options.clientSecret,
        redirect_uris: options.redirectUris,
        post_logout_redirect_uris: options.logoutUris,
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    responseTypes: ['code'],
    pkce: { required: () => true },
    jwks: { keys: [keys.signing] },
    cookies: { keys: [keys.cookie] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username'] },
    // The claims stand in the ID token too, which spares clients the user info request.
    conformIdTokenClaims: false,
    ttl: { AccessToken: 3600, AuthorizationCode: 60, IdToken: 3600, Interaction: 3600, Session: 86_400, Grant: 86_400 },
    findAccount: async (/** @type {any} */ _ctx, /** @type {any} */ name) => ({
      accountId: name,
      claims: async () => ({
        sub: name,
        email: `${name}@example.test`,
        email_verified: true,
        preferred_username: name,
      }),
    }),
    interactions: { url: (/** @type {any} */ _ctx, /** @type {any} */ interaction) => `/login/${interaction.uid}` },
    // The only client is the platform's own: nobody is asked whether it may read the login.
    loadExistingGrant: async (/** @type {any} */ ctx) => {
      const { client, session, params } = ctx.oidc;
      const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
      grant.addOIDCScope(String(params?.scope ?? 'openid'));
      await grant.save();
      return grant;
    },
    renderError: async (/** @type {any} */ ctx, /** @type {any} */ out) => {
      ctx.type = 'html';
      ctx.body = page('Login failed', `<p>${escapeHtml(out.error)}: ${escapeHtml(out.error_description ?? '')}</p>`);
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: async (/** @type {any} */ ctx, /** @type {any} */ form) => {
          const button = '<button form="op.logoutForm" name="logout" value="yes">Log out</button>';
          ctx.body = page('Log out', `<p>End the session at the development identity provider?</p>${form}${button}`);
        },
        postLogoutSuccessSource: async (/** @type {any} */ ctx) => {
          ctx.body = page('Logged out', '<p>The session has ended.</p>');
        },
      },
    },
  };
  const provider = new Provider(options.issuer, configuration);
  if (options.anyLoopbackPort) allowAnyLoopbackPort(provider);
  const callback = provider.callback();
  return createServer((request, response) => {
    if (!request.url?.startsWith('/login/')) return void callback(request, response);
    login(provider, options.password, request, response).catch(() => {
      response.writeHead(400, { 'content-type': 'text/html; charset=utf-8' });
      response.end(page('Login failed', '<p>This login has expired. Start again from the application.</p>'));
    });
  });
}

/** @param {any} provider */
function allowAnyLoopbackPort(provider) {
  const withoutPort = (/** @type {string} */ uri) => uri.replace(/^http:\/\/127\.0\.0\.1:\d+/, 'http://127.0.0.1');
  const client = provider.Client.prototype;
  client.redirectUriAllowed = function redirectUriAllowed(/** @type {string} */ uri) {
    return this.redirectUris.map(withoutPort).includes(withoutPort(uri));
  };
  client.postLogoutRedirectUriAllowed = function postLogoutRedirectUriAllowed(/** @type {string} */ uri) {
    return this.postLogoutRedirectUris.map(withoutPort).includes(withoutPort(uri));
  };
}

/**
 * @param {Provider} provider
 * @param {string} password
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function login(provider, password, request, response) {
  const { uid } = await provider.interactionDetails(request, response);
  const show = (/** @type {number} */ status, /** @type {string | undefined} */ problem) => {
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    response.end(loginPage(`/login/${uid}`, problem));
  };
  if (request.method !== 'POST') return show(200, undefined);
  const form = new URLSearchParams(await bodyOf(request));
  const name = (form.get('login') ?? '').trim().toLowerCase();
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(name)) return show(400, 'A login name is letters, digits, dots, dashes.');
  if (!sameText(form.get('password') ?? '', password)) return show(401, 'Wrong password.');
  await provider.interactionFinished(request, response, { login: { accountId: name } });
}

/** @param {import('node:http').IncomingMessage} request */
async function bodyOf(request) {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) {
    text += chunk;
    if (text.length > 10_000) throw new Error('form too long');
  }
  return text;
}

function main() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '3400' },
      client: { type: 'string', default: 'berth' },
      redirect: { type: 'string', multiple: true, default: [] },
      'logout-redirect': { type: 'string', multiple: true, default: [] },
      'client-secret-file': { type: 'string', default: '' },
      'password-file': { type: 'string', default: '' },
      state: { type: 'string', default: '.' },
      'any-loopback-port': { type: 'boolean', default: false },
    },
  });
  const issuer = `http://127.0.0.1:${values.port}`;
  const server = identityProvider({
    issuer,
    clientId: values.client,
    clientSecret: readFileSync(values['client-secret-file'], 'utf8').trim(),
    redirectUris: values.redirect,
    logoutUris: values['logout-redirect'],
    password: readFileSync(values['password-file'], 'utf8').trim(),
    state: values.state,
    anyLoopbackPort: values['any-loopback-port'],
  });
  server.listen(Number(values.port), '127.0.0.1', () => console.log(`development identity provider on ${issuer}`));
  process.on('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
