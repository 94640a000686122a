import { AccountsService } from '../../../src/modules/accounts/accounts.service.js';
import { Browser } from '../../support/browser.js';
import { TestDatabase } from '../../support/database.js';
import { RedisServer } from '../../support/redis-server.js';
import { type AccountApp, ENTITIES, redisUrl, startAccountApp } from './account-app.js';
import { ForgingProvider, type Forgery } from './forging-provider.js';
import { panelRequest, signedInAs, signIn } from './sign-in.js';
import { Redis } from 'ioredis';

let db: TestDatabase;
let accounts: AccountsService;

beforeAll(async () => {
  db = await TestDatabase.create(ENTITIES);
  accounts = new AccountsService(db.database);
});

afterAll(() => db.drop());

describe('with the real provider', () => {
  let app: AccountApp;

  beforeAll(async () => {
    app = await startAccountApp(db.url);
  });

  afterAll(() => app.close());

  test('a login leads to where it was wanted, and a logout ends it in every process', async () => {
    const other = await startAccountApp(db.url);
    try {
      const { browser, url } = await signIn(app.url, 'carol', new Browser(), '/panel/servers?tab=1#top');
      expect(url).toBe(`${app.url}/panel/servers?tab=1#top`);
      const carol = { id: expect.stringMatching(/^usr_/) as string, username: 'carol', email: 'carol@example.test' };
      expect(await signedInAs(browser, app.url)).toEqual(carol);
      expect(await signedInAs(browser, other.url)).toEqual(carol);
      const me = await browser.send(`${app.url}/panel/api/me`);
      expect(await me.json()).toEqual(carol);

      const sid = browser.cookie(app.url, 'sid')!;
      const logout = await panelRequest(browser, `${app.url}/panel/api/auth/logout`, 'POST');
      expect(logout.status).toBe(200);
      const { endSessionUrl } = (await logout.json()) as { endSessionUrl: string };
      expect(new URL(endSessionUrl).searchParams.get('post_logout_redirect_uri')).toBe(`${app.url}/panel`);
      browser.setCookie(app.url, 'sid', sid);
      expect(await signedInAs(browser, app.url)).toBeNull();
      expect(await signedInAs(browser, other.url)).toBeNull();
    } finally {
      await other.close();
    }
  });

  test('a login makes a new session, and the one the browser came with is dead', async () => {
    const { browser } = await signIn(app.url, 'mallory');
    const planted = browser.cookie(app.url, 'sid')!;
    const victim = new Browser();
    victim.setCookie(app.url, 'sid', planted);
    await signIn(app.url, 'victim', victim);
    expect(victim.cookie(app.url, 'sid')).not.toBe(planted);
    expect(await signedInAs(victim, app.url)).toMatchObject({ username: 'victim' });
    expect(await signedInAs(browser, app.url)).toBeNull();
  });

  test('session ids are long, not guessable from the cookie of another secret, and never chosen by the client', async () => {
    const { browser } = await signIn(app.url, 'dave');
    const [id, signature] = decodeURIComponent(browser.cookie(app.url, 'sid')!).replace(/^s:/, '').split('.') as [
      string,
      string,
    ];
    expect(Buffer.from(id, 'base64url')).toHaveLength(32);
    for (const forged of [`s:${id}.${'A'.repeat(signature.length)}`, id, `s:chosen.${signature}`]) {
      const stranger = new Browser();
      stranger.setCookie(app.url, 'sid', encodeURIComponent(forged));
      expect(await signedInAs(stranger, app.url)).toBeNull();
    }
  });

  test('the cookie is for scripts and other sites out of reach', async () => {
    const browser = new Browser();
    const begun = await browser.send(`${app.url}/panel/api/auth/login`);
    expect(browser.lastSetCookies).toEqual([
      expect.stringMatching(/^login=[\w-]{43}; Max-Age=600; Path=\/; Expires=.*; HttpOnly; SameSite=Lax$/),
    ]);
    expect(new URL(begun.headers.get('location')!).searchParams.get('code_challenge_method')).toBe('S256');
    const form = await browser.follow(begun.headers.get('location')!);
    expect(form.response.status).toBe(200);
    const { browser: signedIn } = await signIn(app.url, 'erin');
    await signedIn.send(`${app.url}/panel/api/auth/session`);
    expect(signedIn.lastSetCookies).toEqual([]);
  });

  test('a session ends with suspension, with deletion, with sign-out everywhere, and after a day', async () => {
    const { browser } = await signIn(app.url, 'frank');
    const { id } = (await signedInAs(browser, app.url))!;
    await accounts.setStatus('frank', 'suspended');
    expect(await signedInAs(browser, app.url)).toBeNull();
    const refused = await signIn(app.url, 'frank', new Browser());
    expect(refused.response.status).toBe(403);
    expect(await refused.response.json()).toMatchObject({ code: 'account_suspended' });
    await accounts.setStatus('frank', 'active');
    expect(await signedInAs(browser, app.url)).toMatchObject({ id });

    const second = (await signIn(app.url, 'frank')).browser;
    await accounts.endSessions('frank');
    expect(await signedInAs(browser, app.url)).toBeNull();
    expect(await signedInAs(second, app.url)).toBeNull();

    const third = (await signIn(app.url, 'frank')).browser;
    const redis = new Redis(redisUrl());
    const sid = decodeURIComponent(third.cookie(app.url, 'sid')!).slice(2).split('.')[0];
    const key = `panel:session:${sid}`;
    expect(await redis.ttl(key)).toBeGreaterThan(8 * 3600 - 10);
    expect(await redis.ttl(key)).toBeLessThanOrEqual(8 * 3600);
    const kept = JSON.parse((await redis.get(key))!) as { signedInAt: number };
    const age = async (hours: number) => {
      await redis.set(key, JSON.stringify({ ...kept, signedInAt: Date.now() - hours * 3_600_000 }));
      return signedInAs(third, app.url);
    };
    expect(await age(23)).toMatchObject({ id });
    expect(await redis.ttl(key)).toBeLessThanOrEqual(3600);
    expect(await age(24)).toBeNull();
    redis.disconnect();

    const fourth = (await signIn(app.url, 'frank')).browser;
    await db.query('DELETE FROM accounts WHERE id = ?', [id]);
    expect(await signedInAs(fourth, app.url)).toBeNull();
  });
});

describe('with a provider that forges', () => {
  let provider: ForgingProvider;
  let app: AccountApp;

  beforeAll(async () => {
    provider = await ForgingProvider.start();
    app = await startAccountApp(db.url, provider.settings);
  });

  afterAll(async () => {
    await app.close();
    await provider.close();
  });

  beforeEach(() => (provider.forgery = {}));

  const code = async (response: Response) => ((await response.json()) as { code: string }).code;

  test('an honest answer is taken, with PKCE', async () => {
    const browser = new Browser();
    expect((await provider.login(browser, app.url)).status).toBe(302);
    expect(await signedInAs(browser, app.url)).toMatchObject({ username: 'forged' });
    expect(provider.lastTokenRequest.get('code_verifier')).toMatch(/^[\w-]{43,}$/);
  });

  const forgeries: Record<string, Forgery> = {
    'another state': { answer: (answer) => answer.set('state', 'x') },
    'no state': { answer: (answer) => answer.delete('state') },
    'two states': { answer: (answer) => answer.append('state', 'x') },
    'another issuer in the answer': { answer: (answer) => answer.set('iss', 'https://other.example') },
    'no issuer in the answer': { answer: (answer) => answer.delete('iss') },
    'no code': { answer: (answer) => answer.delete('code') },
    'an error': {
      answer: (answer) => {
        answer.delete('code');
        answer.set('error', 'access_denied');
      },
    },
    'another nonce': { claims: (claims) => ({ ...claims, nonce: 'x' }) },
    'no nonce': { claims: ({ nonce: _, ...claims }) => claims },
    'another issuer in the token': { claims: (claims) => ({ ...claims, iss: 'https://other.example' }) },
    'another audience': { claims: (claims) => ({ ...claims, aud: 'someone-else' }) },
    'another authorized party': { claims: (claims) => ({ ...claims, aud: ['panel', 'other'], azp: 'other' }) },
    expired: { claims: (claims) => ({ ...claims, exp: Math.floor(Date.now() / 1000) - 3600 }) },
    'not yet valid': { claims: (claims) => ({ ...claims, nbf: Math.floor(Date.now() / 1000) + 3600 }) },
    'no subject': { claims: ({ sub: _, ...claims }) => claims },
    'alg none': { sign: 'none' },
    'signed with the client secret': { sign: 'client-secret' },
    'signed by a stranger': { sign: 'stranger' },
    'broken signature': { sign: 'broken' },
    'unknown key': { header: { kid: 'other' }, sign: 'stranger' },
    'refused code': { tokenStatus: 400 },
  };

  test.each(Object.entries(forgeries))('%s is refused', async (_name, forgery) => {
    provider.forgery = forgery;
    const browser = new Browser();
    const response = await provider.login(browser, app.url);
    expect(response.status).toBe(400);
    expect(await code(response)).toBe('login_failed');
    expect(browser.cookie(app.url, 'sid')).toBeUndefined();
    expect(await signedInAs(browser, app.url)).toBeNull();
  });

  test('a provider that fails is told from a login that fails', async () => {
    provider.forgery = { tokenStatus: 502 };
    const response = await provider.login(new Browser(), app.url);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).not.toBeNull();
    expect(await code(response)).toBe('identity_provider_unavailable');
  });

  test('an answer counts once, for ten minutes, in the browser that asked', async () => {
    const browser = new Browser();
    const begun = await browser.send(`${app.url}/panel/api/auth/login`);
    const answer = provider.callback(begun, app.url);
    const handle = browser.cookie(app.url, 'login')!;
    expect((await new Browser().send(answer)).status).toBe(400);
    const guess = new Browser();
    guess.setCookie(app.url, 'login', 'A'.repeat(43));
    expect((await guess.send(answer)).status).toBe(400);
    expect((await browser.send(answer)).status).toBe(302);
    const again = new Browser();
    again.setCookie(app.url, 'login', handle);
    expect((await again.send(answer)).status).toBe(400);
  });

  test('a login leads nowhere else', async () => {
    const browser = new Browser();
    const response = await provider.login(browser, app.url, '//evil.example/x');
    expect(response.headers.get('location')).toBe('/panel');
  });

  describe('whose account it is', () => {
    const login = (identity: Record<string, unknown>, at = app.url) => {
      provider.identity = identity;
      return provider.login(new Browser(), at);
    };
    const verified = (sub: string, email: string, preferred?: string) => ({
      sub,
      email,
      email_verified: true,
      ...(preferred === undefined ? {} : { preferred_username: preferred }),
    });
    const accountOf = async (subject: string) => {
      const [row] = await db.query<{ id: string; username: string; email: string; planId: string }[]>(
        'SELECT a.id, a.username, a.email, a.plan_id AS planId FROM identities i JOIN accounts a ON a.id = i.account_id WHERE i.subject = ?',
        [subject],
      );
      return row;
    };

    test('the account with the verified address, when it has no identity yet', async () => {
      const { id } = await accounts.create({ username: 'grace', email: 'grace@example.org' });
      expect((await login(verified('g-1', 'Grace@Example.ORG'))).status).toBe(302);
      expect((await accountOf('g-1'))!.id).toBe(id);
      const second = await login(verified('g-2', 'grace@example.org'));
      expect([second.status, await code(second)]).toEqual([403, 'email_in_use']);
      expect((await login(verified('g-1', 'moved@example.org'))).status).toBe(302);
      expect((await accountOf('g-1'))!.email).toBe('grace@example.org');
    });

    test('never the account of an address that is not verified, missing, or only looks alike', async () => {
      await accounts.create({ username: 'heidi', email: 'heidi@example.org' });
      const unverified = [
        { sub: 'h-1', email: 'heidi@example.org', email_verified: false },
        { sub: 'h-2', email: 'heidi@example.org' },
        { sub: 'h-3', email: 'heidi@example.org', email_verified: 'true' },
        { sub: 'h-4', email: '', email_verified: true },
        { sub: 'h-5', email: ['heidi@example.org'], email_verified: true },
      ];
      for (const identity of unverified) {
        const response = await login(identity);
        expect([identity.sub, response.status, await code(response)]).toEqual([identity.sub, 403, 'email_unverified']);
      }
      expect((await login(verified('h-6', 'heídi@example.org'))).status).toBe(302);
      expect((await accountOf('h-6'))!.username).not.toBe('heidi');
    });

    test('a new one on the default plan, under a name of its own', async () => {
      await accounts.create({ username: 'ivan', email: 'first-ivan@example.org' });
      expect((await login(verified('i-1', 'ivan@example.org', 'Ivan'))).status).toBe(302);
      expect(await accountOf('i-1')).toMatchObject({ username: expect.stringMatching(/^ivan-\d{6}$/), planId: 'free' });
      expect((await login(verified('i-2', 'x@example.org', '<script>'))).status).toBe(302);
      expect((await accountOf('i-2'))!.username).toBe('script');
      expect((await login(verified('i-3', 'y@example.org', '日本'))).status).toBe(302);
      expect((await accountOf('i-3'))!.username).toMatch(/^user-\d{6}$/);
    });

    test('one, however many tabs come in at once', async () => {
      provider.identity = verified('j-1', 'judy@example.org', 'judy');
      const browsers = Array.from({ length: 6 }, () => new Browser());
      const begun = await Promise.all(browsers.map((browser) => browser.send(`${app.url}/panel/api/auth/login`)));
      // The forger signs the nonce of the last login it saw, so the answers are asked for one after another.
      for (const [index, browser] of browsers.entries()) {
        expect((await browser.send(provider.callback(begun[index]!, app.url))).status).toBe(302);
      }
      expect(await db.query('SELECT id FROM accounts WHERE email = ?', ['judy@example.org'])).toHaveLength(1);
    });

    test('subjects are told apart to the letter', async () => {
      expect((await login(verified('Kim', 'kim1@example.org'))).status).toBe(302);
      expect((await login(verified('kim', 'kim2@example.org'))).status).toBe(302);
      expect((await login(verified('kim ', 'kim3@example.org'))).status).toBe(302);
      expect((await accountOf('kim'))!.email).toBe('kim2@example.org');
    });

    test('none, when the operator has closed sign-up', async () => {
      const closed = await startAccountApp(db.url, { ...provider.settings, SIGNUP: 'closed' });
      try {
        const response = await login(verified('l-1', 'leo@example.org'), closed.url);
        expect([response.status, await code(response)]).toEqual([403, 'signup_closed']);
        await accounts.create({ username: 'leo', email: 'leo@example.org' });
        expect((await login(verified('l-1', 'leo@example.org'), closed.url)).status).toBe(302);
      } finally {
        await closed.close();
      }
    });
  });

  test('over https the cookies are bound to the host', async () => {
    const publicUrl = 'https://panel.example';
    const settings = { ...provider.settings, PUBLIC_URL: publicUrl, TRUSTED_PROXIES: '127.0.0.1' };
    const secure = await startAccountApp(db.url, settings);
    try {
      provider.identity = { sub: 's-1', email: 's@example.org', email_verified: true };
      const browser = new Browser({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '198.51.100.1' });
      expect((await provider.login(browser, secure.url, '/panel', publicUrl)).status).toBe(302);
      const session = browser.lastSetCookies.find((line) => line.startsWith('__Host-sid='));
      expect(session?.split('; ').slice(1)).toEqual(['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']);
      expect(browser.lastSetCookies.find((line) => line.startsWith('__Host-login=;'))).toContain('Secure');
      expect(await signedInAs(browser, secure.url)).not.toBeNull();
      const plain = await new Browser().send(`${secure.url}/panel/api/auth/login`);
      expect([plain.status, await code(plain)]).toEqual([400, 'https_required']);
    } finally {
      await secure.close();
    }
  });
});

test('the provider may be away while the process starts', async () => {
  const gone = await ForgingProvider.start();
  await gone.close();
  const app = await startAccountApp(db.url, gone.settings);
  try {
    const response = await new Browser().send(`${app.url}/panel/api/auth/login`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'identity_provider_unavailable' });
    const back = await ForgingProvider.start(gone.port);
    back.identity = { sub: 'late', email: 'late@example.org', email_verified: true };
    expect((await back.login(new Browser(), app.url)).status).toBe(302);
    await back.close();
  } finally {
    await app.close();
  }
});

test('without Redis the panel is away and the public API is not', async () => {
  const redis = await RedisServer.start();
  const provider = await ForgingProvider.start();
  provider.identity = { sub: 'r-1', email: 'r@example.org', email_verified: true };
  const app = await startAccountApp(db.url, { ...provider.settings, REDIS_URL: redis.url });
  try {
    const browser = new Browser();
    await provider.login(browser, app.url);
    expect(await signedInAs(browser, app.url)).not.toBeNull();
    await redis.kill();
    for (const path of ['auth/session', 'keys', 'auth/login']) {
      const response = await browser.send(`${app.url}/panel/api/${path}`);
      expect([path, response.status]).toEqual([path, 503]);
      expect(response.headers.get('retry-after')).not.toBeNull();
    }
    expect(
      (await fetch(`${app.url}/api/v1/me`, { headers: { authorization: `Bearer svc_${'3'.repeat(48)}` } })).status,
    ).toBe(401);
  } finally {
    await app.close();
    await provider.close();
    await redis.close();
  }
});
