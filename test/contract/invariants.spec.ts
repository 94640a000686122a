import { Answer } from '../support/api.js';
import type { Berth } from '../support/app.js';
import { stack } from '../support/stack.js';
import { HIDDEN_VALUE, holdInvariants } from './support/invariants.js';

const env = { ...stack.env(), DATABASE_URL: 'mysql://berth:the-password-of-it@127.0.0.1/x' };
const berth = { env, watch: (_answer: Answer): void => undefined };
holdInvariants(berth as unknown as Berth);

const HEADERS = {
  'x-request-id': 'req_0123456789abcdef',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
};
const ME = { id: 'usr_x', username: 'somebody', email: 'somebody@example.test' };
const PROBLEM = {
  type: 'urn:berth:problem:not_found',
  title: 'Not found',
  status: 404,
  code: 'not_found',
  detail: 'The resource does not exist.',
  instance: '/api/v1/me',
  requestId: HEADERS['x-request-id'],
};

function see(
  status: number,
  body: object | string,
  headers: Record<string, string | undefined> = {},
  request = 'GET /api/v1/me',
): void {
  const type = status >= 400 ? { 'content-type': 'application/problem+json' } : {};
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  berth.watch(new Answer(request, status, { ...HEADERS, ...type, ...headers }, text, () => ''));
}

test('answers as they ought to be pass', () => {
  expect(() => see(200, ME)).not.toThrow();
  expect(() => see(404, PROBLEM)).not.toThrow();
  expect(() => see(204, '', { 'content-type': undefined }, 'DELETE /api/v1/servers/x')).not.toThrow();
});

test.each<[fault: string, RegExp, () => void]>([
  ['no request id', /no X-Request-Id/, () => see(200, ME, { 'x-request-id': undefined })],
  ['an undocumented field', /unevaluated/, () => see(200, { ...ME, planId: 'free' })],
  ['a hidden field', /hashedKey/, () => see(200, { ...ME, hashedKey: 'x' })],
  ['a missing field', /required/, () => see(200, { id: 'usr_x', username: 'x' })],
  ['a field of another type', /must be string/, () => see(200, { ...ME, email: null })],
  ['an undocumented status', /201 is not documented/, () => see(201, ME)],
  ['a body where none is due', /has a body/, () => see(204, {}, {}, 'DELETE /api/v1/servers/x')],
  ['an answer that may be kept', /may be cached/, () => see(200, ME, { 'cache-control': 'public' })],
  ['a fault of the platform', /a fault of the platform/, () => see(500, { ...PROBLEM, status: 500 })],
  ['a problem of another type', /media type/, () => see(404, PROBLEM, { 'content-type': 'application/json' })],
  ['a problem without its code', /required/, () => see(404, { ...PROBLEM, code: undefined })],
  ['a problem of another request', /requestId/, () => see(404, { ...PROBLEM, requestId: 'req_fedcba9876543210' })],
  ['a problem that shows the query', /instance/, () => see(404, { ...PROBLEM, instance: '/api/v1/me?key=1' })],
  ['401 without its challenge', /WWW-Authenticate/, () => see(401, { ...PROBLEM, status: 401 })],
  ['a stack', /shows insides/, () => see(404, { ...PROBLEM, detail: 'x\n    at Object.get (node:internal/x)' })],
  ['SQL', /shows insides/, () => see(404, { ...PROBLEM, detail: 'SELECT * FROM servers WHERE id = 1' })],
  ['an error of a driver', /shows insides/, () => see(404, { ...PROBLEM, detail: 'ER_NO_SUCH_TABLE' })],
  ['a password of the platform', /holds a secret/, () => see(404, { ...PROBLEM, detail: 'the-password-of-it' })],
  ['a sealed secret', /value of a sealed secret/, () => see(200, { ...ME, username: HIDDEN_VALUE })],
  ['what it runs on', /tells what it runs on/, () => see(200, ME, { 'x-powered-by': 'Express' })],
])('%s is seen', (_fault, why, show) => expect(show).toThrow(why));
