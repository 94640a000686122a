import { stack } from '../../support/stack.js';
import { Browser } from '../../support/browser.js';

const SCRIPT = { 'x-panel': '1', 'sec-fetch-site': 'same-origin' };

/** Logs a browser in at the test stack's identity provider; the answer is where it ends up. */
export async function signIn(app: string, name: string, browser = new Browser(), returnTo = '/panel') {
  const login = `${app}/panel/api/auth/login?returnTo=${encodeURIComponent(returnTo)}`;
  const form = await browser.follow(login);
  if (form.response.status !== 200)
    throw new Error(`No login form but ${form.response.status}: ${await form.response.text()}`);
  const sent = await browser.send(form.url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ login: name, password: stack.developmentPassword() }).toString(),
  });
  const location = sent.headers.get('location');
  if (location === null) throw new Error(`The form was answered with ${sent.status}: ${await sent.text()}`);
  const back = new URL(location, form.url).href;
  const end = await browser.follow(back, (url) => url.startsWith(app) && !url.includes('/auth/callback'));
  return { browser, ...end };
}

/** A request as the panel's page makes it. */
export function panelRequest(browser: Browser, url: string, method = 'GET', body?: object) {
  return browser.send(url, {
    method,
    headers: { ...SCRIPT, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

export async function signedInAs(browser: Browser, app: string): Promise<Record<string, unknown> | null> {
  const response = await browser.send(`${app}/panel/api/auth/session`);
  if (response.status === 401) return null;
  return ((await response.json()) as { account: Record<string, unknown> }).account;
}
